#include "gpusched/spec/validate_job.h"

#include <algorithm>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <variant>
#include <vector>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "gpusched/base/device_mask.h"
#include "gpusched/base/quantity.h"
#include "gpusched/base/time.h"
#include "gpusched/spec/field_error.h"
#include "gpusched/spec/validate.h"

namespace gpusched {
namespace {

// The length of the UTF-8 character at the front (RFC 3629: no overlong forms, no surrogates,
// nothing above U+10FFFF); 0 if there is none.
std::size_t Utf8Length(std::string_view text) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned lead = byte(0);
  if (lead < 0x80) return 1;
  if (lead < 0xC2 || lead > 0xF4) return 0;
  const std::size_t length = lead < 0xE0 ? 2 : lead < 0xF0 ? 3 : 4;
  if (text.size() < length) return 0;
  const unsigned least = lead == 0xE0 ? 0xA0 : lead == 0xF0 ? 0x90 : 0x80;
  const unsigned most = lead == 0xED ? 0x9F : lead == 0xF4 ? 0x8F : 0xBF;
  if (byte(1) < least || byte(1) > most) return 0;
  for (std::size_t i = 2; i < length; ++i) {
    if ((byte(i) & 0xC0) != 0x80) return 0;
  }
  return length;
}

// The position of the first byte that may not stand in a name; npos if there is none.
std::size_t FirstBadByte(std::string_view name) {
  for (std::size_t i = 0; i < name.size();) {
    const std::size_t length = Utf8Length(name.substr(i));
    if (length == 0) return i;
    const auto first = static_cast<unsigned char>(name[i]);
    if (first < 0x20 || first == 0x7F) return i;
    // U+0080 to U+009F, the second set of control characters.
    if (first == 0xC2 && static_cast<unsigned char>(name[i + 1]) < 0xA0) return i;
    i += length;
  }
  return std::string_view::npos;
}

// What messages show of a bad name: its head, and nothing that a terminal would obey.
std::string Shown(std::string_view name) {
  constexpr std::size_t kHead = 64;
  const std::string_view head = name.substr(0, kHead);
  return Quoted(absl::StrCat(absl::CHexEscape(absl::string_view(head.data(), head.size())),
                             head.size() < name.size() ? "…" : ""));
}

// A text that may be empty: the value of a label.
absl::Status CheckText(std::string_view where, std::string_view field, std::string_view text) {
  if (text.size() > kMaxNameBytes) {
    return InvalidField(where, field, absl::StrCat(text.size(), " bytes long (", Shown(text), ")"),
                        absl::StrCat("use at most ", kMaxNameBytes, " bytes"));
  }
  if (const std::size_t at = FirstBadByte(text); at != std::string_view::npos) {
    return InvalidField(
        where, field, Shown(text),
        absl::StrCat("use UTF-8 without control characters; byte ", at + 1, " is none"));
  }
  return absl::OkStatus();
}

absl::Status CheckName(std::string_view where, std::string_view field, std::string_view name) {
  if (name.empty()) return InvalidField(where, field, "''", "give it a name");
  return CheckText(where, field, name);
}

absl::Status CheckGroupName(std::string_view where, std::string_view field, std::string_view name) {
  GPUSCHED_RETURN_IF_ERROR(CheckName(where, field, name));
  if (name.find('/') == std::string_view::npos) return absl::OkStatus();
  return InvalidField(where, field, Shown(name), "use a name without '/', which parts task names");
}

absl::Status CheckRange(std::string_view where, std::string_view field, std::int64_t value,
                        std::int64_t least, std::int64_t most) {
  if (value >= least && value <= most) return absl::OkStatus();
  return InvalidField(where, field, absl::StrCat(value), absl::StrCat("use ", least, " to ", most));
}

absl::Status CheckAtLeastOne(std::string_view where, std::string_view field,
                             std::optional<std::int64_t> value, const char* absent) {
  if (!value.has_value() || *value >= 1) return absl::OkStatus();
  return InvalidField(where, field, absl::StrCat(*value),
                      absl::StrCat("use 1 or more, or leave it out ", absent));
}

absl::Status CheckSize(std::string_view where, std::string_view field, std::size_t size,
                       std::size_t most) {
  if (size <= most) return absl::OkStatus();
  return InvalidField(where, field, absl::StrCat(size, " entries"),
                      absl::StrCat("use at most ", most));
}

absl::Status CheckDuration(std::string_view where, std::string_view field,
                           std::optional<Duration> value) {
  return CheckRange(where, field, value.value_or(0), 0, kMaxTime);
}

// `keys_once`: no key twice; else no key with the same value twice.
absl::Status CheckLabels(const std::string& where, const std::string& field,
                         const std::vector<Label>& labels, bool keys_once) {
  GPUSCHED_RETURN_IF_ERROR(CheckSize(where, field, labels.size(), kMaxLabels));
  for (std::size_t i = 0; i < labels.size(); ++i) {
    const std::string entry = absl::StrCat(field, "[", i, "]");
    GPUSCHED_RETURN_IF_ERROR(CheckName(where, entry + ".key", labels[i].key));
    GPUSCHED_RETURN_IF_ERROR(CheckText(where, entry + ".value", labels[i].value));
    for (std::size_t k = 0; k < i; ++k) {
      if (labels[k].key != labels[i].key) continue;
      if (!keys_once && labels[k].value != labels[i].value) continue;
      return InvalidField(where, entry + ".key", Quoted(labels[i].key),
                          absl::StrCat("it stands in ", field, "[", k, "] already; keep one"));
    }
  }
  return absl::OkStatus();
}

// That each is one that some device could have; whether it is asked, and there, the state tells.
absl::Status CheckInstances(const std::string& where, const std::vector<MigInstance>& instances) {
  constexpr std::size_t kMost = static_cast<std::size_t>(kMaxDevicesPerNode) * kMaxMigSlices;
  GPUSCHED_RETURN_IF_ERROR(CheckSize(where, "instances", instances.size(), kMost));
  for (std::size_t i = 0; i < instances.size(); ++i) {
    const std::string entry = absl::StrCat("instances[", i, "].");
    GPUSCHED_RETURN_IF_ERROR(
        CheckRange(where, entry + "device", instances[i].device, 0, kMaxDevicesPerNode - 1));
    GPUSCHED_RETURN_IF_ERROR(
        CheckRange(where, entry + "start", instances[i].start, 0, kMaxMigSlices - 1));
    GPUSCHED_RETURN_IF_ERROR(CheckName(where, entry + "profile", instances[i].profile));
  }
  return absl::OkStatus();
}

// What one task of a shape asks of each resource, for totals.
struct Demand {
  std::string_view field;  // as in "groups[0].shape.<field> × count"
  std::int64_t amount;
};

std::vector<Demand> DemandsOf(const ShapeSpec& shape) {
  // A valid shape has at most 2^6 devices with 2^40 each, so these products fit.
  return {{"cpu_milli", shape.cpu_milli},
          {"mem_mib", shape.mem_mib},
          {"gpu_milli × gpu_count", shape.gpu_milli * shape.gpu_count},
          {"gpu_mem_mib × gpu_count", shape.gpu_mem_mib * shape.gpu_count}};
}

// That `count` tasks of a valid shape ask at most kMaxJobTotal of each resource. `totals` has what
// former groups ask, and is added to.
absl::Status CheckTotals(const std::string& where, const std::string& group, const ShapeSpec& shape,
                         std::int64_t count, std::vector<std::int64_t>& totals) {
  const std::vector<Demand> demands = DemandsOf(shape);
  totals.resize(demands.size(), 0);
  for (std::size_t i = 0; i < demands.size(); ++i) {
    const std::string field =
        absl::StrCat(group, ".shape.", std::string(demands[i].field), " × count");
    std::int64_t product = 0;
    if (!CheckedMul(demands[i].amount, count, product) || product > kMaxJobTotal) {
      return InvalidField(where, field, absl::StrCat(demands[i].amount, " × ", count),
                          absl::StrCat("use a product of at most ", kMaxJobTotal));
    }
    if (!CheckedAdd(totals[i], product, totals[i]) || totals[i] > kMaxJobTotal) {
      return InvalidField(where, field, absl::StrCat(product, " besides the groups before it"),
                          absl::StrCat("use at most ", kMaxJobTotal, " in all groups together"));
    }
  }
  return absl::OkStatus();
}

// `list` is the field's name: "groups" or "alternatives[0]".
absl::Status CheckGroups(const std::string& where, const std::string& list,
                         const std::vector<TaskGroupSpec>& groups, const ModelCatalog& catalog) {
  if (groups.empty()) return InvalidField(where, list, "empty", "give it at least one group");
  GPUSCHED_RETURN_IF_ERROR(CheckSize(where, list, groups.size(), kMaxGroups));
  std::int64_t tasks = 0;
  std::vector<std::int64_t> totals;
  for (std::size_t i = 0; i < groups.size(); ++i) {
    const TaskGroupSpec& group = groups[i];
    const std::string entry = absl::StrCat(list, "[", i, "]");
    GPUSCHED_RETURN_IF_ERROR(CheckGroupName(where, entry + ".name", group.name));
    for (std::size_t k = 0; k < i; ++k) {
      if (groups[k].name != group.name) continue;
      return InvalidField(where, entry + ".name", Quoted(group.name),
                          absl::StrCat(list, "[", k, "] has this name already; use another"));
    }
    GPUSCHED_RETURN_IF_ERROR(
        Validate(group.shape, catalog, absl::StrCat(where, ": ", entry, ".shape")));
    GPUSCHED_RETURN_IF_ERROR(CheckRange(where, entry + ".count", group.count, 0, kMaxTasksPerJob));
    GPUSCHED_RETURN_IF_ERROR(CheckRange(where, entry + ".min_available",
                                        group.min_available.value_or(0), 0, group.count));
    GPUSCHED_RETURN_IF_ERROR(CheckAtLeastOne(where, entry + ".max_tasks_per_node",
                                             group.max_tasks_per_node, "for no limit"));
    tasks += group.count;  // at most 64 · 2^20
    GPUSCHED_RETURN_IF_ERROR(CheckTotals(where, entry, group.shape, group.count, totals));
  }
  return CheckRange(where, "sum of " + list + "[].count", tasks, 0, kMaxTasksPerJob);
}

absl::Status CheckForeign(const std::string& where, const UpdateNode& update) {
  const ForeignUsage& foreign = *update.foreign;
  GPUSCHED_RETURN_IF_ERROR(
      CheckRange(where, "foreign.cpu_milli", foreign.cpu_milli, 0, kMaxQuantity));
  GPUSCHED_RETURN_IF_ERROR(CheckRange(where, "foreign.mem_mib", foreign.mem_mib, 0, kMaxQuantity));
  const std::size_t devices =
      update.devices ? update.devices->size() : std::size_t{kMaxDevicesPerNode};
  GPUSCHED_RETURN_IF_ERROR(
      CheckSize(where, "foreign.device_milli", foreign.device_milli.size(), devices));
  for (std::size_t i = 0; i < foreign.device_milli.size(); ++i) {
    GPUSCHED_RETURN_IF_ERROR(CheckRange(where, absl::StrCat("foreign.device_milli[", i, "]"),
                                        foreign.device_milli[i], 0, kMilli));
  }
  return absl::OkStatus();
}

absl::Status CheckGroupUpdate(const std::string& where, const std::string& entry,
                              const GroupUpdate& group, const ModelCatalog& catalog) {
  GPUSCHED_RETURN_IF_ERROR(CheckGroupName(where, entry + ".group", group.group));
  const std::int64_t count = group.count.value_or(kMaxTasksPerJob);
  GPUSCHED_RETURN_IF_ERROR(CheckRange(where, entry + ".count", count, 0, kMaxTasksPerJob));
  GPUSCHED_RETURN_IF_ERROR(
      CheckRange(where, entry + ".min_available", group.min_available.value_or(0), 0, count));
  if (!group.shape.has_value()) return absl::OkStatus();
  GPUSCHED_RETURN_IF_ERROR(
      Validate(*group.shape, catalog, absl::StrCat(where, ": ", entry, ".shape")));
  if (!group.count.has_value()) return absl::OkStatus();
  std::vector<std::int64_t> totals;
  return CheckTotals(where, entry, *group.shape, count, totals);
}

// One overload for each kind of event.
class EventCheck {
 public:
  explicit EventCheck(const ModelCatalog& catalog) : catalog_(catalog) {}

  absl::Status operator()(const AddNode& event) const {
    GPUSCHED_RETURN_IF_ERROR(CheckName("node", "name", event.node.name));
    return Validate(event.node, catalog_);
  }
  absl::Status operator()(const UpdateNode& event) const { return Validate(event, catalog_); }
  absl::Status operator()(const RemoveNode& event) const {
    return CheckName("remove node", "node", event.node);
  }
  absl::Status operator()(const CordonNode& event) const {
    return CheckName("cordon node", "node", event.node);
  }
  absl::Status operator()(const SubmitJob& event) const { return Validate(event.job, catalog_); }
  absl::Status operator()(const UpdateJob& event) const { return Validate(event, catalog_); }
  absl::Status operator()(const CancelJob& event) const {
    return CheckName("cancel job", "job", event.job);
  }
  absl::Status operator()(const TaskStarted& event) const {
    GPUSCHED_RETURN_IF_ERROR(Validate(event.task));
    if (!event.place.has_value()) return absl::OkStatus();
    const std::string where = "task " + Quoted(TaskName(event.task));
    GPUSCHED_RETURN_IF_ERROR(CheckInstances(where, event.place->instances));
    return CheckName(where, "place.node", event.place->node);
  }
  absl::Status operator()(const TaskFinished& event) const { return Validate(event.task); }
  absl::Status operator()(const TaskFailed& event) const { return Validate(event.task); }
  absl::Status operator()(const TaskEvicted& event) const { return Validate(event.task); }
  absl::Status operator()(const HoldCapacity& event) const { return Validate(event, catalog_); }
  absl::Status operator()(const DropHold& event) const {
    return CheckName("drop hold", "name", event.name);
  }
  absl::Status operator()(const Tick& event) const {
    return CheckRange("tick", "now", event.now, 0, kMaxTime);
  }

 private:
  const ModelCatalog& catalog_;
};

}  // namespace

absl::Status Validate(const JobSpec& job, const ModelCatalog& catalog) {
  GPUSCHED_RETURN_IF_ERROR(CheckName("job", "name", job.name));
  const std::string where = "job " + Quoted(job.name);
  if (job.kind != JobKind::kBatch && job.kind != JobKind::kService) {
    return InvalidField(where, "kind", absl::StrCat(static_cast<int>(job.kind)),
                        "use kBatch (0) or kService (1)");
  }
  GPUSCHED_RETURN_IF_ERROR(CheckName(where, "queue", job.queue));
  GPUSCHED_RETURN_IF_ERROR(CheckRange(where, "priority", job.priority, kMinPriority, kMaxPriority));
  GPUSCHED_RETURN_IF_ERROR(CheckDuration(where, "submit_time", job.submit_time));
  GPUSCHED_RETURN_IF_ERROR(CheckDuration(where, "expected_duration", job.expected_duration));
  GPUSCHED_RETURN_IF_ERROR(
      CheckAtLeastOne(where, "max_attempts", job.max_attempts, "to try for ever"));
  GPUSCHED_RETURN_IF_ERROR(CheckLabels(where, "labels", job.labels, /*keys_once=*/true));
  GPUSCHED_RETURN_IF_ERROR(CheckLabels(where, "affinity", job.affinity, /*keys_once=*/false));
  GPUSCHED_RETURN_IF_ERROR(
      CheckLabels(where, "anti_affinity", job.anti_affinity, /*keys_once=*/false));
  if (job.co_schedule.has_value()) {
    GPUSCHED_RETURN_IF_ERROR(CheckName(where, "co_schedule.group", job.co_schedule->group));
    GPUSCHED_RETURN_IF_ERROR(
        CheckRange(where, "co_schedule.size", job.co_schedule->size, 1, kMaxCoScheduled));
  }
  GPUSCHED_RETURN_IF_ERROR(
      CheckSize(where, "alternatives", job.alternatives.size(), kMaxAlternatives));
  GPUSCHED_RETURN_IF_ERROR(CheckGroups(where, "groups", job.groups, catalog));
  for (std::size_t i = 0; i < job.alternatives.size(); ++i) {
    GPUSCHED_RETURN_IF_ERROR(
        CheckGroups(where, absl::StrCat("alternatives[", i, "]"), job.alternatives[i], catalog));
  }
  return absl::OkStatus();
}

absl::Status Validate(const UpdateNode& update, const ModelCatalog& catalog) {
  GPUSCHED_RETURN_IF_ERROR(CheckName("update node", "node", update.node));
  // Absent parts are checked as 0, which passes.
  NodeSpec node{.name = update.node,
                .cpu_milli = update.cpu_milli.value_or(0),
                .mem_mib = update.mem_mib.value_or(0),
                .devices = {}};
  if (update.devices.has_value()) node.devices = *update.devices;
  GPUSCHED_RETURN_IF_ERROR(Validate(node, catalog));
  if (!update.foreign.has_value()) return absl::OkStatus();
  return CheckForeign("node " + Quoted(update.node), update);
}

absl::Status Validate(const UpdateJob& update, const ModelCatalog& catalog) {
  GPUSCHED_RETURN_IF_ERROR(CheckName("update job", "job", update.job));
  const std::string where = "job " + Quoted(update.job);
  if (update.queue.has_value()) {
    GPUSCHED_RETURN_IF_ERROR(CheckName(where, "queue", *update.queue));
  }
  GPUSCHED_RETURN_IF_ERROR(
      CheckRange(where, "priority", update.priority.value_or(0), kMinPriority, kMaxPriority));
  GPUSCHED_RETURN_IF_ERROR(CheckDuration(where, "expected_duration", update.expected_duration));
  GPUSCHED_RETURN_IF_ERROR(CheckSize(where, "groups", update.groups.size(), kMaxGroups));
  for (std::size_t i = 0; i < update.groups.size(); ++i) {
    const std::string entry = absl::StrCat("groups[", i, "]");
    GPUSCHED_RETURN_IF_ERROR(CheckGroupUpdate(where, entry, update.groups[i], catalog));
    for (std::size_t k = 0; k < i; ++k) {
      if (update.groups[k].group != update.groups[i].group) continue;
      return InvalidField(where, entry + ".group", Quoted(update.groups[i].group),
                          absl::StrCat("it stands in groups[", k, "] already; keep one"));
    }
  }
  return absl::OkStatus();
}

absl::Status Validate(const HoldCapacity& hold, const ModelCatalog& catalog) {
  GPUSCHED_RETURN_IF_ERROR(CheckName("hold", "name", hold.name));
  const std::string where = "hold " + Quoted(hold.name);
  GPUSCHED_RETURN_IF_ERROR(CheckName(where, "owner", hold.owner));
  GPUSCHED_RETURN_IF_ERROR(CheckName(where, "node", hold.node));
  GPUSCHED_RETURN_IF_ERROR(Validate(hold.shape, catalog, where + ": shape"));
  GPUSCHED_RETURN_IF_ERROR(CheckInstances(where, hold.instances));
  if (hold.instances.empty() && hold.devices.size() != hold.shape.gpu_count) {
    return InvalidField(where, "devices", absl::StrCat(hold.devices.size(), " devices"),
                        absl::StrCat("the shape asks ", hold.shape.gpu_count, "; name so many"));
  }
  if (hold.until == kNoDeadline) return absl::OkStatus();
  if (hold.until >= 0 && hold.until <= kMaxTime) return absl::OkStatus();
  return InvalidField(where, "until", absl::StrCat(hold.until),
                      absl::StrCat("use 0 to ", kMaxTime, ", or kNoDeadline (", kNoDeadline, ")"));
}

absl::Status Validate(const TaskKey& task) {
  GPUSCHED_RETURN_IF_ERROR(CheckName("task", "job", task.job));
  GPUSCHED_RETURN_IF_ERROR(CheckGroupName("task", "group", task.group));
  const std::string where = "task " + Quoted(TaskName(task));
  GPUSCHED_RETURN_IF_ERROR(CheckRange(where, "index", task.index, 0, kMaxTasksPerJob - 1));
  if (task.attempt >= 1 && task.attempt <= kMaxAttempt) return absl::OkStatus();
  return InvalidField(where, "attempt", absl::StrCat(task.attempt),
                      absl::StrCat("attempts count from 1; use 1 to ", kMaxAttempt));
}

absl::Status Validate(const Event& event, const ModelCatalog& catalog) {
  return std::visit(EventCheck(catalog), event);
}

}  // namespace gpusched
