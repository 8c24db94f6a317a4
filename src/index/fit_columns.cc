#include "gpusched/index/fit_columns.h"

#include <algorithm>
#include <cstring>

#include "gpusched/base/quantity.h"
#include "gpusched/state/fit.h"

#if defined(__x86_64__) && (defined(__GNUC__) || defined(__clang__))
#include <immintrin.h>
#define GPUSCHED_HAS_AVX2 1
#else
#define GPUSCHED_HAS_AVX2 0
#endif

namespace gpusched {
namespace {

constexpr std::size_t kWord = FitColumns::kWord;

std::uint64_t AtLeastPortable(const std::int32_t* amounts, std::int32_t bound) {
  std::array<std::uint8_t, kWord> has;
  for (std::size_t i = 0; i < kWord; ++i) has[i] = amounts[i] >= bound ? 1 : 0;
  // Eight bytes of 0 or 1 to eight bits: the product moves byte i to bit 56 + i.
  constexpr std::uint64_t kGather = 0x0102'0408'1020'4080;
  std::uint64_t mask = 0;
  for (std::size_t i = 0; i < kWord; i += 8) {
    std::uint64_t eight = 0;
    std::memcpy(&eight, has.data() + i, sizeof(eight));
    if constexpr (std::endian::native == std::endian::big) eight = __builtin_bswap64(eight);
    mask |= (eight * kGather >> 56) << i;
  }
  return mask;
}

void NarrowPortable(const std::int32_t* amounts, std::int32_t bound, std::size_t words,
                    std::uint64_t* mask) {
  for (std::size_t word = 0; word < words; ++word) {
    if (mask[word] != 0) mask[word] &= AtLeastPortable(amounts + word * kWord, bound);
  }
}

#if GPUSCHED_HAS_AVX2
// Compiled for AVX2 alone, whatever the rest is compiled for; called only where there is AVX2.
__attribute__((target("avx2"))) inline __m256i EightAbove(const std::int32_t* amounts,
                                                          __m256i below) {
  return _mm256_cmpgt_epi32(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(amounts)), below);
}

__attribute__((target("avx2"))) inline std::uint64_t HalfWord(const std::int32_t* amounts,
                                                              __m256i below) {
  const __m256i ab = _mm256_packs_epi32(EightAbove(amounts, below), EightAbove(amounts + 8, below));
  const __m256i cd =
      _mm256_packs_epi32(EightAbove(amounts + 16, below), EightAbove(amounts + 24, below));
  // Packing goes by halves of a register, so groups of four stand in the order 0 2 4 6 1 3 5 7.
  const __m256i order = _mm256_setr_epi32(0, 4, 1, 5, 2, 6, 3, 7);
  const __m256i bytes = _mm256_permutevar8x32_epi32(_mm256_packs_epi16(ab, cd), order);
  return static_cast<std::uint32_t>(_mm256_movemask_epi8(bytes));
}

__attribute__((target("avx2"))) inline std::uint64_t AtLeastInline(const std::int32_t* amounts,
                                                                   std::int32_t bound) {
  const __m256i below = _mm256_set1_epi32(bound - 1);
  return HalfWord(amounts, below) | HalfWord(amounts + kWord / 2, below) << (kWord / 2);
}

__attribute__((target("avx2"))) std::uint64_t AtLeastAvx2(const std::int32_t* amounts,
                                                          std::int32_t bound) {
  return AtLeastInline(amounts, bound);
}

__attribute__((target("avx2"))) void NarrowAvx2(const std::int32_t* amounts, std::int32_t bound,
                                                std::size_t words, std::uint64_t* mask) {
  for (std::size_t word = 0; word < words; ++word) {
    if (mask[word] != 0) mask[word] &= AtLeastInline(amounts + word * kWord, bound);
  }
}

bool HasAvx2() {
  static const bool has = __builtin_cpu_supports("avx2") != 0;
  return has;
}
#endif

// Amounts are never negative.
std::int32_t Narrowed(std::int64_t amount) {
  return static_cast<std::int32_t>(std::min<std::int64_t>(amount, FitColumns::kMost));
}

bool Bit(std::uint64_t mask, std::size_t i) { return ((mask >> i) & 1) != 0; }

}  // namespace

FitColumns::FitColumns(Path path) : at_least_(AtLeastPortable), narrow_(NarrowPortable) {
#if GPUSCHED_HAS_AVX2
  if (path == Path::kFastest && HasAvx2()) {
    at_least_ = AtLeastAvx2;
    narrow_ = NarrowAvx2;
  }
#else
  (void)path;
#endif
}

FitColumns::DeviceTest FitColumns::DeviceTestOf(const Shape& shape) {
  if (!shape.asks_gpu() || !shape.plain()) return {};
  if (shape.gpu_milli == kMilli) {
    return {.exists = true,
            .free = Column::kWholeFree,
            .capacity = Column::kWholeCapacity,
            .bound = shape.gpu_count};
  }
  if (!shape.shares()) return {};
  return {.exists = true,
          .free = Column::kRoomiest,
          .capacity = Column::kLargestDevice,
          .bound = shape.gpu_milli};
}

std::uint64_t FitColumns::WithModel(ModelMask models, std::size_t word) const {
  if (!Divides(models)) return Word(Flag::kHasDevices, word);
  std::uint64_t with = 0;
  for (ModelMask rest = models & seen_models_; rest != 0; rest &= rest - 1) {
    with |= with_model_[static_cast<std::size_t>(std::countr_zero(rest))][word];
  }
  return with;
}

void FitColumns::Narrow(Column column, std::int64_t bound, std::vector<std::uint64_t>& mask) const {
  if (bound <= 0) return;
  narrow_(columns_[static_cast<std::size_t>(column)].data(), Narrowed(bound), words_, mask.data());
}

void FitColumns::Fitting(const ClusterState& state, const Shape& shape,
                         std::vector<std::uint64_t>& mask) {
  Synchronise(state);
  mask.resize(words_);
  const DeviceTest test = DeviceTestOf(shape);
  for (std::size_t word = 0; word < words_; ++word) {
    mask[word] = Word(Flag::kLive, word) & ~Word(Flag::kCordoned, word);
    if (shape.asks_gpu()) mask[word] &= WithModel(shape.models, word);
  }
  // What few nodes have comes first: words in which nobody is left are not looked at again.
  if (test.exists) {
    Narrow(test.free, test.bound, mask);
  } else if (shape.asks_gpu()) {
    const OfferMask wants = shape.wants();
    // Plain nodes offer nothing else.
    if ((wants & (kOfferWhole | kOfferShare)) == 0) {
      for (std::size_t word = 0; word < words_; ++word) mask[word] &= Word(Flag::kNotPlain, word);
    }
    if ((wants & kOfferMig) == 0) Narrow(Column::kRoomiest, shape.gpu_milli, mask);
  }
  Narrow(Column::kCpuFree, shape.cpu_milli, mask);
  Narrow(Column::kMemFree, shape.mem_mib, mask);
  // An instance has memory of its own.
  if (shape.asks_gpu() && (shape.wants() & kOfferMig) == 0) {
    Narrow(Column::kMostDeviceMem, shape.gpu_mem_mib, mask);
  }
  Verify(state, shape, test, mask);
}

void FitColumns::Verify(const ClusterState& state, const Shape& shape, const DeviceTest& test,
                        std::vector<std::uint64_t>& mask) const {
  const bool amounts_tell = shape.cpu_milli < kMost && shape.mem_mib < kMost;
  if (amounts_tell && !shape.asks_gpu()) return;
  const bool columns_tell = amounts_tell && test.exists && shape.gpu_mem_mib < kMost;
  const bool divides = Divides(shape.models);
  for (std::size_t word = 0; word < words_; ++word) {
    std::uint64_t doubt = mask[word];
    if (doubt == 0) continue;
    if (columns_tell) {
      std::uint64_t unsure = Word(Flag::kNotPlain, word);
      if (divides) unsure |= Word(Flag::kSeveralModels, word);
      if (shape.gpu_mem_mib > 0) {
        // Elsewhere every device has the memory.
        const auto bound = static_cast<std::int32_t>(shape.gpu_mem_mib);
        unsure |= ~AtLeast(Column::kLeastDeviceMem, word, bound);
      }
      doubt &= unsure;
    }
    for (; doubt != 0; doubt &= doubt - 1) {
      const auto i = static_cast<std::size_t>(std::countr_zero(doubt));
      if (!Fits(state.node(slot(word * kWord + i)), shape)) mask[word] &= ~(std::uint64_t{1} << i);
    }
  }
}

std::size_t FitColumns::bytes() const {
  std::size_t sum = 0;
  const auto add = [&](const auto& vector) { sum += vector.capacity() * sizeof(vector[0]); };
  for (const auto& column : columns_) add(column);
  for (const auto& flag : flags_) add(flag);
  for (const auto& with : with_model_) add(with);
  add(models_);
  add(stale_capacity_);
  add(position_of_slot_);
  add(rank_of_slot_);
  add(slot_of_position_);
  add(fitting_);
  return sum;
}

void FitColumns::Synchronise(const ClusterState& state) {
  const ChangeLog& log = state.nodes().changes();
  if (!log.Is(identity_) || !log.Reaches(seen_)) {
    identity_ = log.identity();
    Rebuild(state);
  }
  while (seen_ < log.end()) {
    const std::uint32_t slot = log[seen_++];
    if (seen_ < log.end() && log[seen_] == slot) continue;
    Refresh(state, slot);
  }
}

void FitColumns::SynchroniseCapacity(const ClusterState& state) {
  Synchronise(state);
  for (std::size_t word = 0; word < words_; ++word) {
    if (stale_capacity_[word] == 0) continue;
    std::uint64_t rest = stale_capacity_[word] & Word(Flag::kLive, word);
    stale_capacity_[word] = 0;
    for (; rest != 0; rest &= rest - 1) {
      const std::size_t position = word * kWord + static_cast<std::size_t>(std::countr_zero(rest));
      WriteCapacity(position, state.node(slot(position)));
    }
  }
}

void FitColumns::Rebuild(const ClusterState& state) {
  const NodeTable& nodes = state.nodes();
  words_ = 0;
  for (auto& column : columns_) column.clear();
  for (auto& flag : flags_) flag.clear();
  models_.clear();
  with_model_.clear();
  seen_models_ = 0;
  stale_capacity_.clear();
  position_of_slot_.assign(nodes.slots(), kNowhere);
  rank_of_slot_.assign(nodes.slots(), 0);
  slot_of_position_.clear();
  positions_ = 0;
  next_rank_ = 0;
  AddWords((nodes.order().size() + kWord - 1) / kWord);
  for (const std::uint32_t slot : nodes.order()) {
    Append(slot, nodes.rank(slot));
    WriteRow(positions_ - 1, state.node(slot));
  }
  seen_ = nodes.changes().end();
}

void FitColumns::Refresh(const ClusterState& state, std::uint32_t slot) {
  const NodeTable& nodes = state.nodes();
  if (slot >= position_of_slot_.size()) {
    position_of_slot_.resize(slot + std::size_t{1}, kNowhere);
    rank_of_slot_.resize(slot + std::size_t{1}, 0);
  }
  std::uint32_t& position = position_of_slot_[slot];
  const bool live = nodes.live(slot);
  if (position != kNowhere && (!live || rank_of_slot_[slot] != nodes.rank(slot))) {
    // It has gone, and may come back in its place if that is taken back.
    Set(Flag::kLive, position, false);
    if (live) position = kNowhere;
  }
  if (!live) return;
  if (position == kNowhere) {
    // Nobody else takes the place of one that has gone, so those places are given up now and then.
    const std::size_t most = nodes.order().size() + nodes.order().size() / 4 + kWord;
    if (positions_ >= most || nodes.rank(slot) < next_rank_) {
      Rebuild(state);
      return;
    }
    Append(slot, nodes.rank(slot));
  }
  WriteRow(position, state.node(slot));
}

void FitColumns::Append(std::uint32_t slot, std::uint64_t rank) {
  if (positions_ == words_ * kWord) AddWords(1);
  position_of_slot_[slot] = static_cast<std::uint32_t>(positions_);
  rank_of_slot_[slot] = rank;
  slot_of_position_[positions_++] = slot;
  next_rank_ = rank + 1;
}

void FitColumns::AddWords(std::size_t words) {
  words_ += words;
  for (auto& column : columns_) column.resize(words_ * kWord, 0);
  for (auto& flag : flags_) flag.resize(words_, 0);
  for (auto& with : with_model_) with.resize(words_, 0);
  models_.resize(words_ * kWord, 0);
  slot_of_position_.resize(words_ * kWord, 0);
  stale_capacity_.resize(words_, 0);
}

void FitColumns::SetModels(std::size_t position, ModelMask models) {
  const ModelMask changed = models_[position] ^ models;
  if (changed == 0) return;
  for (ModelMask rest = changed; rest != 0; rest &= rest - 1) {
    const auto model = static_cast<std::size_t>(std::countr_zero(rest));
    while (with_model_.size() <= model) with_model_.emplace_back(words_, std::uint64_t{0});
    SetBit(with_model_[model], position, Bit(models, model));
  }
  models_[position] = models;
  seen_models_ |= models;
  Set(Flag::kHasDevices, position, models != 0);
  Set(Flag::kSeveralModels, position, std::popcount(models) > 1);
}

void FitColumns::WriteRow(std::size_t position, const NodeView& node) {
  std::int32_t roomiest = 0;
  std::int32_t whole = 0;
  std::int64_t least = DeviceFree::kUntracked;
  std::int64_t most = 0;
  for (const DeviceFree& device : node.devices()) {
    roomiest = std::max(roomiest, device.gpu_milli);
    whole += device.gpu_milli >= kMilli ? 1 : 0;
    least = std::min(least, device.mem_mib);
    most = std::max(most, device.mem_mib);
  }
  At(Column::kCpuFree, position) = Narrowed(node.cpu_free());
  At(Column::kMemFree, position) = Narrowed(node.mem_free());
  At(Column::kRoomiest, position) = roomiest;
  At(Column::kWholeFree, position) = whole;
  At(Column::kLeastDeviceMem, position) = Narrowed(least);
  At(Column::kMostDeviceMem, position) = Narrowed(most);
  SetModels(position, node.models());
  Set(Flag::kLive, position, true);
  Set(Flag::kCordoned, position, node.cordoned());
  Set(Flag::kNotPlain, position, !node.plain());
  SetBit(stale_capacity_, position, true);
}

void FitColumns::WriteCapacity(std::size_t position, const NodeView& node) {
  std::int64_t largest = 0;
  std::int32_t whole = 0;
  bool out_of_service = false;
  std::int64_t least = DeviceFree::kUntracked;
  std::int64_t most = 0;
  for (const DeviceLedger& device : node.device_ledgers()) {
    const std::int64_t memory =
        device.mem_tracked ? device.capacity.mem_mib : DeviceFree::kUntracked;
    least = std::min(least, memory);
    most = std::max(most, memory);
    largest = std::max(largest, device.capacity.gpu_milli);
    whole += device.capacity.gpu_milli >= kMilli ? 1 : 0;
    out_of_service = out_of_service || device.capacity.gpu_milli <= 0;
  }
  At(Column::kCpuCapacity, position) = Narrowed(node.capacity()[ResourceKind::kCpuMilli]);
  At(Column::kMemCapacity, position) = Narrowed(node.capacity()[ResourceKind::kMemMib]);
  At(Column::kLargestDevice, position) = Narrowed(largest);
  At(Column::kWholeCapacity, position) = whole;
  At(Column::kSmallestDeviceMem, position) = Narrowed(least);
  At(Column::kLargestDeviceMem, position) = Narrowed(most);
  Set(Flag::kOutOfService, position, out_of_service);
}

}  // namespace gpusched
