// NodeIndex: the node that a full scan would take, without the scan.
#ifndef GPUSCHED_INDEX_NODE_INDEX_H_
#define GPUSCHED_INDEX_NODE_INDEX_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <utility>

#include "absl/functional/function_ref.h"
#include "gpusched/export.h"
#include "gpusched/policy/concepts.h"
#include "gpusched/policy/row_scorer.h"
#include "gpusched/state/cluster_state.h"

namespace gpusched {

struct NodeIndexOptions {
  // Shapes that have a lane at the same time; up to kMaxLanes.
  std::size_t max_lanes = kMaxLanes;
};

// Keeps, for a score that depends on the node alone, the score of every node for the shapes that
// are asked about (lanes), in a ScoreTree. It holds no truth: it reads in the ledger's change log
// what has changed since it was last asked, in or out of a transaction, and may be thrown away at
// any time. Shapes get a lane when they are asked about; when all lanes are taken, the one that is
// asked about least makes room for one that is asked about more. Thread-compatible.
class GPUSCHED_EXPORT NodeIndex {
 public:
  enum class Outcome : std::uint8_t {
    kFound,
    kNone,     // no node
    kUnknown,  // the shape has no lane, too many nodes were refused, or the score left its range
  };
  struct Answer {
    Outcome outcome = Outcome::kUnknown;
    std::uint32_t slot = 0;
    DeviceChoice choice = {};
    Score score = 0;
  };
  using Passes = absl::FunctionRef<bool(const NodeView& node)>;

  virtual ~NodeIndex() = default;

  // The candidate that PlainScan finds. O(log nodes), and for each node that has changed one row.
  virtual Answer Find(const ClusterState& state, const Shape& shape) = 0;
  // The same among nodes that pass. Asks about nodes from the best on; after MostRefused it says
  // kUnknown, which is where a scan is cheaper.
  virtual Answer FindWhere(const ClusterState& state, const Shape& shape, Passes passes) = 0;
  // Gives lanes to these shapes of the state's, as far as there are any left, all at once.
  virtual void Prepare(const ClusterState& state, std::span<const ShapeId> shapes) = 0;

  virtual std::size_t lanes() const = 0;
  // Memory, in all.
  virtual std::size_t bytes() const = 0;
  // Whether a changed node costs about as much as a look at it, however many lanes there are.
  virtual bool shares_work() const = 0;

  // How many refused nodes are enough, for so many nodes.
  static constexpr std::size_t MostRefused(std::size_t nodes) { return 16 + nodes / 32; }
};

// An index for scores of this range and order; null if the range has no room for "does not fit"
// beside it in 16 bits.
GPUSCHED_EXPORT std::unique_ptr<NodeIndex> MakeNodeIndex(std::unique_ptr<RowScorer> rows,
                                                         ScoreRange range, DeviceOrder order,
                                                         const NodeIndexOptions& options = {});

// The same for any score; null if it depends on more than the node.
template <PlacementScore P>
std::unique_ptr<NodeIndex> MakeNodeIndexFor(const P& score, const NodeIndexOptions& options = {}) {
  auto rows = RowsOf(score);
  if (rows == nullptr) return nullptr;
  return MakeNodeIndex(std::move(rows), score.range(), DeviceOrderOf(score), options);
}

}  // namespace gpusched

#endif  // GPUSCHED_INDEX_NODE_INDEX_H_
