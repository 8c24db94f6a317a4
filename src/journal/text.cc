#include "gpusched/journal/text.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <variant>
#include <vector>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "gpusched/base/device_mask.h"
#include "gpusched/base/time.h"
#include "gpusched/journal/codec.h"
#include "gpusched/journal/commit_record.h"
#include "gpusched/spec/field_error.h"

namespace gpusched {
namespace {

// A name on one line, whatever is in it: what is decoded has not been checked.
std::string Plain(const std::string& name) { return absl::Utf8SafeCHexEscape(name); }

std::string InQuotes(const std::string& name) { return Quoted(Plain(name)); }

std::string Plural(std::size_t count, const char* noun) {
  return absl::StrCat(count, " ", noun, count == 1 ? "" : "s");
}

// Parts of a line with commas between them.
class Parts {
 public:
  template <class... Ts>
  void Add(const Ts&... part) {
    absl::StrAppend(&text_, text_.empty() ? "" : ", ", part...);
  }
  bool empty() const { return text_.empty(); }
  const std::string& text() const { return text_; }

 private:
  std::string text_;
};

std::string AttemptText(const TaskKey& task) {
  return absl::StrCat(Plain(TaskName(task)), " attempt ", task.attempt);
}

std::string PlaceText(const std::string& node, DeviceMask devices) {
  std::string text = Plain(node);
  const char* before = devices.size() == 1 ? " device " : " devices ";
  for (; !devices.empty(); devices.DropFirst()) {
    absl::StrAppend(&text, before, devices.First());
    before = ",";
  }
  return text;
}

// "8 devices (6 T4, 2 A10)", models in order of their first device.
std::string DevicesText(const std::vector<DeviceSpec>& devices) {
  if (devices.empty()) return "0 devices";
  std::vector<std::pair<std::string, std::size_t>> models;
  for (const DeviceSpec& device : devices) {
    auto found = std::find_if(models.begin(), models.end(),
                              [&](const auto& model) { return model.first == device.model; });
    if (found == models.end()) found = models.insert(found, {device.model, 0});
    ++found->second;
  }
  Parts parts;
  for (const auto& [model, count] : models) parts.Add(count, " ", Plain(model));
  return absl::StrCat(Plural(devices.size(), "device"), " (", parts.text(), ")");
}

std::string ShapeText(const ShapeSpec& shape) {
  Parts parts;
  parts.Add("cpu_milli ", shape.cpu_milli);
  parts.Add("mem_mib ", shape.mem_mib);
  if (shape.gpu_count != 0) parts.Add(shape.gpu_count, " × gpu_milli ", shape.gpu_milli);
  if (shape.gpu_mem_mib != 0) parts.Add("gpu_mem_mib ", shape.gpu_mem_mib);
  std::string models;
  for (const std::string& model : shape.models) {
    absl::StrAppend(&models, models.empty() ? "" : " or ", Plain(model));
  }
  if (!models.empty()) parts.Add("on ", models);
  return parts.text();
}

// "4 tasks (main 3 of which 2 at once, ps 1)"
std::string GroupsText(const std::vector<TaskGroupSpec>& groups, JobKind kind) {
  Parts parts;
  // Unsigned, because what is decoded may be too large for a sum.
  std::uint64_t tasks = 0;
  for (const TaskGroupSpec& group : groups) {
    tasks += static_cast<std::uint64_t>(group.count);
    const std::int64_t together = MinAvailable(group, kind);
    const std::string least =
        together == group.count ? "" : absl::StrCat(" of which ", together, " at once");
    parts.Add(Plain(group.name), " ", group.count, least);
  }
  return absl::StrCat(Plural(tasks, "task"), " (", parts.text(), ")");
}

std::string GroupUpdateText(const GroupUpdate& group) {
  std::string text = absl::StrCat("group ", InQuotes(group.group));
  if (group.count) absl::StrAppend(&text, " count ", *group.count);
  if (group.min_available) absl::StrAppend(&text, " min_available ", *group.min_available);
  if (group.shape) absl::StrAppend(&text, " shape (", ShapeText(*group.shape), ")");
  return text;
}

struct EventWriter {
  std::string operator()(const AddNode& event) const {
    const NodeSpec& node = event.node;
    return absl::StrCat("add node ", InQuotes(node.name), ": cpu_milli ", node.cpu_milli,
                        ", mem_mib ", node.mem_mib, ", ", DevicesText(node.devices));
  }
  std::string operator()(const UpdateNode& event) const {
    Parts parts;
    if (event.cpu_milli) parts.Add("cpu_milli ", *event.cpu_milli);
    if (event.mem_mib) parts.Add("mem_mib ", *event.mem_mib);
    if (event.devices) parts.Add(DevicesText(*event.devices));
    if (event.foreign) {
      std::string milli;
      for (const std::int64_t amount : event.foreign->device_milli) {
        absl::StrAppend(&milli, milli.empty() ? ", device_milli " : ",", amount);
      }
      parts.Add("foreign (cpu_milli ", event.foreign->cpu_milli, ", mem_mib ",
                event.foreign->mem_mib, milli, ")");
    }
    if (parts.empty()) parts.Add("nothing");
    return absl::StrCat("update node ", InQuotes(event.node), ": ", parts.text());
  }
  std::string operator()(const RemoveNode& event) const {
    return absl::StrCat("remove node ", InQuotes(event.node));
  }
  std::string operator()(const CordonNode& event) const {
    return absl::StrCat(event.cordoned ? "cordon node " : "uncordon node ", InQuotes(event.node));
  }
  std::string operator()(const SubmitJob& event) const {
    const JobSpec& job = event.job;
    Parts parts;
    parts.Add(job.kind == JobKind::kBatch ? "batch" : "service");
    parts.Add(GroupsText(job.groups, job.kind));
    for (const auto& groups : job.alternatives) parts.Add("else ", GroupsText(groups, job.kind));
    parts.Add("queue ", InQuotes(job.queue));
    parts.Add("priority ", job.priority);
    if (job.submit_time) parts.Add("submitted at ", *job.submit_time, " us");
    if (job.expected_duration) parts.Add("expected to take ", *job.expected_duration, " us");
    if (job.max_attempts) parts.Add("max_attempts ", *job.max_attempts);
    if (job.homogeneous) parts.Add("homogeneous");
    AddLabels("label", job.labels, parts);
    AddLabels("affinity", job.affinity, parts);
    AddLabels("anti_affinity", job.anti_affinity, parts);
    if (job.co_schedule) {
      parts.Add("one of ", job.co_schedule->size, " in ", InQuotes(job.co_schedule->group));
    }
    return absl::StrCat("submit job ", InQuotes(job.name), ": ", parts.text());
  }
  std::string operator()(const UpdateJob& event) const {
    Parts parts;
    if (event.queue) parts.Add("queue ", InQuotes(*event.queue));
    if (event.priority) parts.Add("priority ", *event.priority);
    if (event.expected_duration) parts.Add("expected to take ", *event.expected_duration, " us");
    for (const GroupUpdate& group : event.groups) parts.Add(GroupUpdateText(group));
    if (parts.empty()) parts.Add("nothing");
    return absl::StrCat("update job ", InQuotes(event.job), ": ", parts.text());
  }
  std::string operator()(const CancelJob& event) const {
    return absl::StrCat("cancel job ", InQuotes(event.job));
  }
  std::string operator()(const TaskStarted& event) const {
    std::string text = absl::StrCat("started ", AttemptText(event.task));
    if (event.place) {
      absl::StrAppend(&text, " on ", PlaceText(event.place->node, event.place->devices));
    }
    return text;
  }
  std::string operator()(const TaskFinished& event) const {
    return absl::StrCat("finished ", AttemptText(event.task));
  }
  std::string operator()(const TaskFailed& event) const {
    return absl::StrCat("failed ", AttemptText(event.task));
  }
  std::string operator()(const TaskEvicted& event) const {
    return absl::StrCat("evicted ", AttemptText(event.task));
  }
  std::string operator()(const HoldCapacity& event) const {
    return absl::StrCat(
        "hold ", InQuotes(event.name), " for job ", InQuotes(event.owner), ": ",
        ShapeText(event.shape), " of ", PlaceText(event.node, event.devices),
        event.until == kNoDeadline ? "" : absl::StrCat(" until ", event.until, " us"));
  }
  std::string operator()(const DropHold& event) const {
    return absl::StrCat("drop hold ", InQuotes(event.name));
  }
  std::string operator()(const Tick& event) const {
    return absl::StrCat("tick to ", event.now, " us");
  }

  static void AddLabels(const char* what, const std::vector<Label>& labels, Parts& parts) {
    for (const Label& label : labels) {
      parts.Add(what, " ", Plain(label.key), "=", Plain(label.value));
    }
  }
};

std::string WhyText(const WaitReason& why) {
  std::string text(ReasonName(why.reason));
  if (!why.group.empty()) absl::StrAppend(&text, ", group ", InQuotes(why.group));
  absl::StrAppend(&text, ", needs ", why.need, ", has ", why.have);
  if (!why.subject.empty()) absl::StrAppend(&text, " (", Plain(why.subject), ")");
  return text;
}

struct StepWriter {
  std::string operator()(const Place& step) const {
    const std::string which =
        step.alternative == 0 ? "" : absl::StrCat(" by alternative ", step.alternative);
    return absl::StrCat("place ", AttemptText(step.task), " on ",
                        PlaceText(step.node, step.devices), which);
  }
  std::string operator()(const Evict& step) const {
    return absl::StrCat("evict ", AttemptText(step.task), " from ", Plain(step.node), ": ",
                        std::string(EvictCauseName(step.cause)));
  }
  std::string operator()(const Wait& step) const {
    return absl::StrCat("wait ", Plain(step.job), ": ", WhyText(step.why));
  }
  std::string operator()(const Reject& step) const {
    return absl::StrCat("reject ", Plain(step.job), ": ", WhyText(step.why));
  }
};

}  // namespace

std::string EventText(const Event& event) { return std::visit(EventWriter(), event); }

std::string StepText(const Step& step) { return std::visit(StepWriter(), step); }

std::string PlanText(const Plan& plan) {
  std::array<std::size_t, std::variant_size_v<Step>> count{};
  for (const Step& step : plan.steps()) ++count[step.index()];
  return absl::StrCat("at ", plan.now(), " us, from version ", plan.version(), ": ", count[0],
                      " place, ", count[1], " evict, ", count[2], " wait, ", count[3], " reject");
}

std::string RecordText(const Record& record) {
  const std::string kind(RecordKindName(record.kind));
  if (record.kind == RecordKind::kSnapshot) {
    return absl::StrCat(kind, ": ", record.payload.size(), " bytes");
  }
  if (record.kind == RecordKind::kEvent) {
    const absl::StatusOr<Event> event = DecodeEvent(record.payload);
    return absl::StrCat(kind, ": ",
                        event.ok() ? EventText(*event) : std::string(event.status().message()));
  }
  absl::StatusOr<Plan> plan = DecodePlan(record.payload);
  if (record.kind == RecordKind::kCommit) {
    const absl::StatusOr<CommitRecord> commit = DecodeCommit(record.payload);
    plan = commit.ok() ? absl::StatusOr<Plan>(commit->plan) : commit.status();
  }
  return absl::StrCat(kind, ": ",
                      plan.ok() ? PlanText(*plan) : std::string(plan.status().message()));
}

}  // namespace gpusched
