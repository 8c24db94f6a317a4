// Codec: events, plans and the specs in them as bytes, by the rules of journal/bytes.h.
//
// `Write(ByteWriter&, const T&)` and `bool Read(ByteReader&, T&)` take each struct below, alone or
// in optionals, vectors and variants. The bytes are part of the journal's format: what changes them
// (a member, the order of an enum or of a variant, unless appended) needs a new kJournalVersion.
#ifndef GPUSCHED_JOURNAL_CODEC_H_
#define GPUSCHED_JOURNAL_CODEC_H_

#include <cstddef>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "gpusched/base/device_mask.h"
#include "gpusched/base/verdict.h"
#include "gpusched/decision/plan.h"
#include "gpusched/export.h"
#include "gpusched/journal/bytes.h"
#include "gpusched/journal/members.h"
#include "gpusched/spec/event.h"
#include "gpusched/spec/job_spec.h"
#include "gpusched/spec/node_spec.h"
#include "gpusched/spec/shape_spec.h"
#include "gpusched/spec/task_key.h"

namespace gpusched {

// The bytes of an event or a plan. Equal values give equal bytes. O(size).
GPUSCHED_EXPORT std::string Encode(const Event& event);
GPUSCHED_EXPORT std::string Encode(const Plan& plan);

// The value that was encoded. Errors: kDataLoss for bytes that are no encoding, or more than one.
// What comes out is of the right type but not checked: see spec/validate_job.h. O(size).
GPUSCHED_EXPORT absl::StatusOr<Event> DecodeEvent(std::string_view bytes);
GPUSCHED_EXPORT absl::StatusOr<Plan> DecodePlan(std::string_view bytes);

// specs
template <>
inline constexpr std::size_t kMembers<DeviceSpec> = 8;
template <>
inline constexpr std::size_t kMembers<MigPartition> = 2;
template <>
inline constexpr std::size_t kMembers<MigInstance> = 3;
template <>
inline constexpr std::size_t kEnumValues<SharingMode> = kSharingModes;
template <>
inline constexpr std::size_t kMembers<NodeSpec> = 4;
template <>
inline constexpr std::size_t kMembers<ForeignUsage> = 3;
template <>
inline constexpr std::size_t kMembers<ShapeSpec> = 9;
template <>
inline constexpr std::size_t kMembers<TaskGroupSpec> = 5;
template <>
inline constexpr std::size_t kMembers<Label> = 2;
template <>
inline constexpr std::size_t kMembers<CoSchedule> = 2;
template <>
inline constexpr std::size_t kMembers<JobSpec> = 14;
template <>
inline constexpr std::size_t kMembers<TaskKey> = 4;
template <>
inline constexpr std::size_t kEnumValues<JobKind> = 2;

// events
template <>
inline constexpr std::size_t kMembers<AddNode> = 1;
template <>
inline constexpr std::size_t kMembers<UpdateNode> = 5;
template <>
inline constexpr std::size_t kMembers<RemoveNode> = 1;
template <>
inline constexpr std::size_t kMembers<CordonNode> = 2;
template <>
inline constexpr std::size_t kMembers<SubmitJob> = 1;
template <>
inline constexpr std::size_t kMembers<GroupUpdate> = 4;
template <>
inline constexpr std::size_t kMembers<UpdateJob> = 5;
template <>
inline constexpr std::size_t kMembers<CancelJob> = 1;
template <>
inline constexpr std::size_t kMembers<TaskPlace> = 3;
template <>
inline constexpr std::size_t kMembers<TaskStarted> = 2;
template <>
inline constexpr std::size_t kMembers<TaskFinished> = 1;
template <>
inline constexpr std::size_t kMembers<TaskFailed> = 1;
template <>
inline constexpr std::size_t kMembers<TaskEvicted> = 1;
template <>
inline constexpr std::size_t kMembers<HoldCapacity> = 7;
template <>
inline constexpr std::size_t kMembers<DropHold> = 1;
template <>
inline constexpr std::size_t kMembers<Tick> = 1;

// steps
template <>
inline constexpr std::size_t kMembers<DeviceGrant> = 4;
template <>
inline constexpr std::size_t kMembers<Place> = 7;
template <>
inline constexpr std::size_t kMembers<Evict> = 3;
template <>
inline constexpr std::size_t kMembers<WaitReason> = 5;
template <>
inline constexpr std::size_t kMembers<Wait> = 2;
template <>
inline constexpr std::size_t kMembers<Reject> = 2;
template <>
inline constexpr std::size_t kEnumValues<EvictCause> = kEvictCauses;
template <>
inline constexpr std::size_t kEnumValues<Reason> = kReasons;

inline void Write(ByteWriter& out, DeviceMask devices) { out.Unsigned(devices.bits()); }
inline bool Read(ByteReader& in, DeviceMask& devices) {
  std::uint64_t bits = 0;
  if (!in.Unsigned(bits)) return false;
  devices = DeviceMask(bits);
  return true;
}

GPUSCHED_EXPORT void Write(ByteWriter& out, const Plan& plan);
GPUSCHED_EXPORT bool Read(ByteReader& in, Plan& plan);

}  // namespace gpusched

#endif  // GPUSCHED_JOURNAL_CODEC_H_
