// FitColumns: what every node has free, in narrow columns, so that all nodes are asked at once.
#ifndef GPUSCHED_INDEX_FIT_COLUMNS_H_
#define GPUSCHED_INDEX_FIT_COLUMNS_H_

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "gpusched/export.h"
#include "gpusched/state/change_log.h"
#include "gpusched/state/cluster_state.h"
#include "gpusched/state/model_table.h"
#include "gpusched/state/shape.h"

namespace gpusched {

// A copy, in 32 bits, of the amounts that Fits compares. Nodes stand at positions, which ascend in
// node order; a node that has gone leaves a position that nobody fits. Positions go by words of 64,
// and an answer about a word is a mask.
//
// It holds no truth: it reads in the ledger's change log what has changed since it was last asked,
// in or out of a transaction, and may be thrown away at any time. What the columns can't tell
// (nodes that are not plain, amounts beyond 32 bits, device memory that only some devices have) is
// asked of Fits. Thread-compatible; asking changes it.
class GPUSCHED_EXPORT FitColumns {
 public:
  // How columns are compared; the answers are the same.
  enum class Path : std::uint8_t {
    kFastest,   // the widest instructions that this machine has
    kPortable,  // those that every machine has
  };
  // Amounts of a node. Larger ones than 32 bits tell are kMost, which also stands for device memory
  // that is not tracked.
  enum class Column : std::uint8_t {
    kCpuFree,
    kMemFree,
    kRoomiest,        // most milli that one device has left
    kWholeFree,       // devices with all of their milli left
    kLeastDeviceMem,  // device memory left where least is
    kMostDeviceMem,   // device memory left where most is
    kCpuCapacity,     // the capacities are there after SynchroniseCapacity
    kMemCapacity,
    kLargestDevice,      // most milli that one device has to give
    kWholeCapacity,      // devices that have all milli to give
    kSmallestDeviceMem,  // device memory to give where least is
    kLargestDeviceMem,   // device memory to give where most is
  };
  // Sets of nodes.
  enum class Flag : std::uint8_t {
    kLive,
    kCordoned,
    kHasDevices,
    kSeveralModels,
    kNotPlain,      // NodeView::plain
    kOutOfService,  // has a device that has nothing to give; there after SynchroniseCapacity
  };
  static constexpr std::size_t kWord = 64;
  static constexpr std::int32_t kMost = INT32_MAX;

  // The column that says whether a plain node has the devices that a plain shape asks, and from
  // which amount on.
  struct DeviceTest {
    bool exists = false;  // else no column tells
    Column free = Column::kRoomiest;
    Column capacity = Column::kLargestDevice;
    std::int32_t bound = 0;
  };

  explicit FitColumns(Path path = Path::kFastest);

  // Sets, in `mask`, the bits of the positions of nodes that Fits lets pass; word w of it is for
  // the positions from 64·w on. O(nodes / 8) with wide instructions, and O(devices) for each node
  // that only Fits can judge.
  void Fitting(const ClusterState& state, const Shape& shape, std::vector<std::uint64_t>& mask);

  // Calls visit(slot) for the nodes that fit, in node order.
  template <class Visitor>
  void ForEachFitting(const ClusterState& state, const Shape& shape, Visitor&& visit) {
    Fitting(state, shape, fitting_);
    for (std::size_t word = 0; word < fitting_.size(); ++word) {
      for (std::uint64_t rest = fitting_[word]; rest != 0; rest &= rest - 1) {
        visit(slot(word * kWord + static_cast<std::size_t>(std::countr_zero(rest))));
      }
    }
  }

  // Memory, in all.
  std::size_t bytes() const;

  // --- for whoever asks more of the columns than what fits -------------------------------------
  // Brings everything but capacities up to date: O(devices) for each change.
  void Synchronise(const ClusterState& state);
  // The same for the capacities too. They are read less often and seldom change, but nothing says
  // when, so a node's are read anew if anything about it has changed.
  void SynchroniseCapacity(const ClusterState& state);

  std::size_t words() const { return words_; }
  // Of a position whose node is live.
  std::uint32_t slot(std::size_t position) const { return slot_of_position_[position]; }
  std::uint64_t Word(Flag flag, std::size_t word) const {
    return flags_[static_cast<std::size_t>(flag)][word];
  }
  // Which positions of a word have this amount or more; `bound` is 0 or more.
  std::uint64_t AtLeast(Column column, std::size_t word, std::int32_t bound) const {
    return at_least_(columns_[static_cast<std::size_t>(column)].data() + word * kWord, bound);
  }
  // Which nodes of a word have a device of one of these models.
  std::uint64_t WithModel(ModelMask models, std::size_t word) const;
  // Whether there may be nodes that have devices of these models and of others.
  bool Divides(ModelMask models) const { return (models & seen_models_) != seen_models_; }
  static DeviceTest DeviceTestOf(const Shape& shape);

  // Position by position, whether they have the amount.
  using AtLeastFn = std::uint64_t (*)(const std::int32_t* amounts, std::int32_t bound);
  // Takes out of each word of `mask` the positions that have less.
  using NarrowFn = void (*)(const std::int32_t* amounts, std::int32_t bound, std::size_t words,
                            std::uint64_t* mask);

 private:
  static constexpr std::size_t kColumns = 12;
  static constexpr std::size_t kFlags = 6;
  static constexpr std::uint32_t kNowhere = UINT32_MAX;

  std::int32_t& At(Column column, std::size_t position) {
    return columns_[static_cast<std::size_t>(column)][position];
  }
  static void SetBit(std::vector<std::uint64_t>& bits, std::size_t position, bool value) {
    const std::uint64_t bit = std::uint64_t{1} << (position % kWord);
    std::uint64_t& word = bits[position / kWord];
    word = value ? word | bit : word & ~bit;
  }
  void Set(Flag flag, std::size_t position, bool value) {
    SetBit(flags_[static_cast<std::size_t>(flag)], position, value);
  }
  void Narrow(Column column, std::int64_t bound, std::vector<std::uint64_t>& mask) const;
  // Asks Fits about those that the columns let pass but can't be sure of.
  void Verify(const ClusterState& state, const Shape& shape, const DeviceTest& test,
              std::vector<std::uint64_t>& mask) const;

  void Rebuild(const ClusterState& state);
  void Refresh(const ClusterState& state, std::uint32_t slot);
  void Append(std::uint32_t slot, std::uint64_t rank);
  void AddWords(std::size_t words);
  void SetModels(std::size_t position, ModelMask models);
  void WriteRow(std::size_t position, const NodeView& node);
  void WriteCapacity(std::size_t position, const NodeView& node);

  AtLeastFn at_least_;
  NarrowFn narrow_;

  std::size_t words_ = 0;
  std::array<std::vector<std::int32_t>, kColumns> columns_;
  std::array<std::vector<std::uint64_t>, kFlags> flags_;
  std::vector<ModelMask> models_;                       // by position
  std::vector<std::vector<std::uint64_t>> with_model_;  // by model, a set of positions
  ModelMask seen_models_ = 0;
  std::vector<std::uint64_t> stale_capacity_;  // a set of positions

  std::shared_ptr<const void> identity_;
  ChangeLog::Position seen_ = 0;
  std::vector<std::uint32_t> position_of_slot_;
  std::vector<std::uint64_t> rank_of_slot_;
  std::vector<std::uint32_t> slot_of_position_;
  std::size_t positions_ = 0;
  std::uint64_t next_rank_ = 0;

  std::vector<std::uint64_t> fitting_;
};

}  // namespace gpusched

#endif  // GPUSCHED_INDEX_FIT_COLUMNS_H_
