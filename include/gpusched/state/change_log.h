// ChangeLog: which nodes have changed since, for whoever keeps something derived from their rows.
#ifndef GPUSCHED_STATE_CHANGE_LOG_H_
#define GPUSCHED_STATE_CHANGE_LOG_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

namespace gpusched {

// The last changes by node slot, oldest first, in a ring: writing one costs a store, and whoever
// reads keeps the position up to which it has read. A slot stands once for each change, those of
// what was rolled back too. Readers come when they need to, so the log knows none of them; one who
// comes too late is told so and looks at all nodes.
class ChangeLog {
 public:
  using Position = std::uint64_t;

  ChangeLog() : ring_(kSmallest), identity_(std::make_shared<char>()) {}
  // A copy is the log of another ledger, in which nothing has changed yet.
  ChangeLog(const ChangeLog& other)
      : ring_(other.ring_.size()), identity_(std::make_shared<char>()) {}
  ChangeLog& operator=(const ChangeLog& other) { return *this = ChangeLog(other); }
  ChangeLog(ChangeLog&&) = default;
  ChangeLog& operator=(ChangeLog&&) = default;
  ~ChangeLog() = default;

  // Tells ledgers apart: equal as long as it is the same one, wherever it has been moved to. Keep
  // it, not its address, to compare with later.
  std::shared_ptr<const void> identity() const { return identity_; }
  bool Is(const std::shared_ptr<const void>& identity) const { return identity_ == identity; }

  // Where the next change will stand.
  Position end() const { return end_; }
  // Whether all changes from there on can still be told.
  bool Reaches(Position from) const { return from >= first_ && end_ - from <= ring_.size(); }
  // The slot that changed; `at` is reached and before the end.
  std::uint32_t operator[](Position at) const { return ring_[at & (ring_.size() - 1)]; }

  // --- writing (NodeTable only) ----------------------------------------------------------------
  void Note(std::uint32_t slot) {
    ring_[end_ & (ring_.size() - 1)] = slot;
    ++end_;
  }
  // Makes room for what a table of so many rows needs: fewer changes than it has nodes can be told
  // for any table, which is where looking at all nodes would cost less.
  void Fit(std::size_t rows) {
    std::size_t size = ring_.size();
    while (size * kNodesPerEntry < rows) size *= 2;
    if (size == ring_.size()) return;
    ring_.assign(size, 0);
    first_ = end_;
  }

 private:
  static constexpr std::size_t kSmallest = 1024;
  static constexpr std::size_t kNodesPerEntry = 4;

  std::vector<std::uint32_t> ring_;  // its size is a power of two
  Position first_ = 0;               // nothing before it is there
  Position end_ = 0;
  std::shared_ptr<const void> identity_;
};

}  // namespace gpusched

#endif  // GPUSCHED_STATE_CHANGE_LOG_H_
