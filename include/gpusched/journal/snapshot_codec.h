// The bytes of a StateSnapshot, by the rules of journal/bytes.h.
#ifndef GPUSCHED_JOURNAL_SNAPSHOT_CODEC_H_
#define GPUSCHED_JOURNAL_SNAPSHOT_CODEC_H_

#include <cstddef>

#include "gpusched/journal/codec.h"
#include "gpusched/state/snapshot.h"

namespace gpusched {

template <>
inline constexpr std::size_t kMembers<PeakRates> = 8;
template <>
inline constexpr std::size_t kMembers<GpuModel> = 11;
template <>
inline constexpr std::size_t kMembers<MigProfile> = 6;
template <>
inline constexpr std::size_t kMembers<MigGeometrySpec> = 5;
template <>
inline constexpr std::size_t kMembers<NodeSnapshot> = 4;
template <>
inline constexpr std::size_t kMembers<TaskSnapshot> = 7;
template <>
inline constexpr std::size_t kMembers<JobHeader> = 4;
template <>
inline constexpr std::size_t kMembers<ParkedTask> = 5;
template <>
inline constexpr std::size_t kMembers<JobSnapshot> = 7;
template <>
inline constexpr std::size_t kMembers<HoldSnapshot> = 7;
template <>
inline constexpr std::size_t kMembers<StateSnapshot> = 7;
template <>
inline constexpr std::size_t kEnumValues<TaskPhase> = kTaskPhases;

}  // namespace gpusched

#endif  // GPUSCHED_JOURNAL_SNAPSHOT_CODEC_H_
