#include "gpusched/policy/score/best_fit.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "gpusched/policy/row_scorer.h"

namespace gpusched {
namespace {

// BestFit asked about many shapes on one node. The score is ⌊(n + s)/d⌋ within the range, where n
// tells what the node has given out already and s what the shape asks; both are split into quotient
// and remainder, so that a shape costs an addition.
class BestFitRows final : public RowScorer {
 public:
  explicit BestFitRows(const BestFit& score) : score_(score) {}

  void SetLane(std::size_t lane, const Shape& shape) override {
    if (lane >= lanes_.size()) lanes_.resize(lane + 1);
    lanes_[lane] = {.shape = shape,
                    .part = Split(100 * (Wide{ScoredCpu(shape)} * score_.norms.gpu_milli +
                                         Wide{shape.gpu_milli_total()} * score_.norms.cpu_milli))};
  }

  void ScoreRow(const NodeView& node, const LaneMask& asked, Score* out) override {
    if (!node.plain()) {
      asked.ForEach([&](std::size_t lane) { out[lane] = Best(node, lane, kOrder).score; });
      return;
    }
    const Wide left = Wide{node.cpu_free()} * score_.norms.gpu_milli +
                      Wide{node.gpu_free_milli()} * score_.norms.cpu_milli;
    const Quotient base = Split(100 * (Denominator() - left));
    const auto denominator = static_cast<std::int64_t>(Denominator());
    asked.ForEach([&](std::size_t i) {
      const Lane& lane = lanes_[i];
      if (!lane.shape.plain()) {
        out[i] = Best(node, i, kOrder).score;
        return;
      }
      const std::int64_t carry = base.rest + lane.part.rest >= denominator ? 1 : 0;
      out[i] = static_cast<Score>(std::clamp<std::int64_t>(
          base.whole + lane.part.whole + carry, BestFit::range().lo, BestFit::range().hi));
    });
  }

  NodeChoice Best(const NodeView& node, std::size_t lane, DeviceOrder order) override {
    const Shape& shape = lanes_[lane].shape;
    const DeviceChoice choice = ChooseDevices(node, shape, order);
    return {.choice = choice, .score = score_(node, shape, choice)};
  }

  bool SameOnAllDevices() const override { return true; }
  bool shares_work() const override { return true; }

 private:
  static constexpr DeviceOrder kOrder = DeviceOrder::kFullestFirst;

  struct Quotient {
    std::int64_t whole = 0;
    std::int64_t rest = 0;  // 0 to the denominator − 1
  };
  struct Lane {
    Shape shape;
    Quotient part;
  };

  Wide Denominator() const { return Wide{2} * score_.norms.cpu_milli * score_.norms.gpu_milli; }

  // Rounded down. Norms and amounts are bounded (ScoreNorms, kMaxQuantity), so quotients fit.
  Quotient Split(Wide numerator) const {
    const Wide d = Denominator();
    constexpr Wide kNarrow = Wide{1} << 62;
    if (-kNarrow < numerator && numerator < kNarrow) {
      const auto n = static_cast<std::int64_t>(numerator);
      const auto m = static_cast<std::int64_t>(d);
      const std::int64_t whole = n / m - (n % m < 0 ? 1 : 0);
      return {.whole = whole, .rest = n - whole * m};
    }
    const Wide whole = numerator / d - (numerator % d < 0 ? 1 : 0);
    return {.whole = static_cast<std::int64_t>(whole),
            .rest = static_cast<std::int64_t>(numerator - whole * d)};
  }

  BestFit score_;
  std::vector<Lane> lanes_;
};

}  // namespace

std::unique_ptr<RowScorer> BestFit::Rows() const { return std::make_unique<BestFitRows>(*this); }

}  // namespace gpusched
