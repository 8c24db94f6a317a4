// Text: events, steps and records as one line each, for people. Not to be read by programs.
#ifndef GPUSCHED_JOURNAL_TEXT_H_
#define GPUSCHED_JOURNAL_TEXT_H_

#include <string>

#include "gpusched/decision/plan.h"
#include "gpusched/export.h"
#include "gpusched/journal/record.h"
#include "gpusched/spec/event.h"

namespace gpusched {

// What was told: "submit job 'j': batch, 4 tasks (main 4), queue 'default', priority 0".
GPUSCHED_EXPORT std::string EventText(const Event& event);

// What is to be done: "place j/main/0 attempt 1 on n1 devices 0,1".
GPUSCHED_EXPORT std::string StepText(const Step& step);

// How much is to be done: "at 60000000 us, from version 12: 3 place, 0 evict, 1 wait, 0 reject".
GPUSCHED_EXPORT std::string PlanText(const Plan& plan);

// The kind and what it carries: "event: tick to 60000000 us", "commit: at …"; of one that can't be
// decoded, why.
GPUSCHED_EXPORT std::string RecordText(const Record& record);

}  // namespace gpusched

#endif  // GPUSCHED_JOURNAL_TEXT_H_
