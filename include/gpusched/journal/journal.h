// Journal: where records of events and plans go, one after the other.
#ifndef GPUSCHED_JOURNAL_JOURNAL_H_
#define GPUSCHED_JOURNAL_JOURNAL_H_

#include <string_view>

#include "absl/status/status.h"
#include "gpusched/export.h"

namespace gpusched {

// An append-only sink of framed bytes (see journal/record.h). After an error nothing of that record
// may remain.
class GPUSCHED_EXPORT Journal {
 public:
  virtual ~Journal() = default;
  virtual absl::Status Append(std::string_view bytes) = 0;
  // Whether nothing has been appended yet, by this object or whoever wrote before it.
  virtual bool empty() const = 0;
};

}  // namespace gpusched

#endif  // GPUSCHED_JOURNAL_JOURNAL_H_
