// Restore: an engine from its journal.
#ifndef GPUSCHED_ENGINE_RESTORE_H_
#define GPUSCHED_ENGINE_RESTORE_H_

#include <cstdint>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "gpusched/engine/engine.h"
#include "gpusched/export.h"
#include "gpusched/journal/record.h"

namespace gpusched {

enum class ReplayMode : std::uint8_t {
  kApply,   // committed plans are taken as they stand, whatever the policies are now
  kVerify,  // each plan is decided anew, and must be the same to the byte
};

// How far a journal carried.
struct RestoreReport {
  std::uint64_t records = 0;      // that were applied
  std::uint64_t valid_bytes = 0;  // that they take; a journal goes on from here
  std::uint64_t total_bytes = 0;
  std::uint64_t plans = 0;  // committed ones among the records
  // Why the rest was left out, with the record and the byte; empty if nothing was.
  std::string problem;
  // The same as a code. Unless it is whole or cut, to go on from `valid_bytes` removes records that
  // may be whole.
  JournalEnd end = JournalEnd::kWhole;
};

struct Restored {
  Engine engine;
  RestoreReport report;
  // Goes on where the valid part ends; give it to Engine::SetJournal.
  RecordWriter writer;
};

// Replays the longest valid prefix of a journal. The rest (cut, damaged, or a record that does not
// apply) is left out, and the report says so. Errors: kInvalidArgument for bytes that are no
// journal, one of another version, or one without a first snapshot; kDataLoss if not even that is
// whole; what the policies' factory says. O(journal).
GPUSCHED_EXPORT absl::StatusOr<Restored> Restore(std::string_view journal,
                                                 EnginePolicies policies = {},
                                                 ReplayMode mode = ReplayMode::kApply);

}  // namespace gpusched

#endif  // GPUSCHED_ENGINE_RESTORE_H_
