#include "gpusched/policy/score/fgd.h"

#include <algorithm>
#include <bit>
#include <limits>
#include <utility>

#include "gpusched/spec/field_error.h"
#include "policy/score/fgd_rows.h"

namespace gpusched {
namespace {

// ⌈10⁹ · ln(s/(100 − s))⌉ for s = 1 … 99: the smallest gradient, in nano-GPU, at which
// 100 · sigmoid reaches s. Committed, because libraries differ in the last bit of exp.
constexpr std::array<std::int64_t, 99> kLogitNanoGpu = {
    -4'595'119'850, -3'891'820'298, -3'476'098'689, -3'178'053'830, -2'944'438'979,
    -2'751'535'313, -2'586'689'344, -2'442'347'035, -2'313'634'929, -2'197'224'577,
    -2'090'741'096, -1'992'430'164, -1'900'958'761, -1'815'289'966, -1'734'601'055,
    -1'658'228'076, -1'585'627'263, -1'516'347'489, -1'450'010'175, -1'386'294'361,
    -1'324'925'414, -1'265'666'373, -1'208'311'205, -1'152'679'509, -1'098'612'288,
    -1'045'968'555, -994'622'575,   -944'461'608,   -895'384'047,   -847'297'860,
    -800'119'300,   -753'771'802,   -708'185'057,   -663'294'217,   -619'039'208,
    -575'364'144,   -532'216'813,   -489'548'225,   -447'312'218,   -405'465'108,
    -363'965'377,   -322'773'392,   -281'851'152,   -241'162'056,   -200'670'695,
    -160'342'650,   -120'144'311,   -80'042'707,    -40'005'334,    0,
    40'005'335,     80'042'708,     120'144'312,    160'342'651,    200'670'696,
    241'162'057,    281'851'153,    322'773'393,    363'965'378,    405'465'109,
    447'312'219,    489'548'226,    532'216'814,    575'364'145,    619'039'209,
    663'294'218,    708'185'058,    753'771'803,    800'119'301,    847'297'861,
    895'384'048,    944'461'609,    994'622'576,    1'045'968'556,  1'098'612'289,
    1'152'679'510,  1'208'311'206,  1'265'666'374,  1'324'925'415,  1'386'294'362,
    1'450'010'176,  1'516'347'490,  1'585'627'264,  1'658'228'077,  1'734'601'056,
    1'815'289'967,  1'900'958'762,  1'992'430'165,  2'090'741'097,  2'197'224'578,
    2'313'634'930,  2'442'347'036,  2'586'689'345,  2'751'535'314,  2'944'438'980,
    3'178'053'831,  3'476'098'690,  3'891'820'299,  4'595'119'851};

constexpr std::int64_t kNanoGpuPerMilli = 1'000'000;

}  // namespace

absl::StatusOr<Fgd> Fgd::Build(const TargetWorkload& target, ClusterState& state) {
  if (target.total() == 0) {
    return InvalidField(
        "policy fgd", "target", "empty",
        "give the requests that are expected; without any, no idle GPU is a fragment");
  }
  auto table = FragmentTable::Build(target, state);
  if (!table.ok()) return table.status();
  return Fgd(*std::move(table));
}

Fgd::Fgd(FragmentTable table) : table_(std::move(table)) {
  for (std::size_t i = 0; i < kThresholds; ++i) {
    // Gradients are whole, so the threshold may be rounded up to the next one.
    const Wide nano = Wide{kLogitNanoGpu[i]} * table_.total_weight();
    const Wide down = nano / kNanoGpuPerMilli;
    thresholds_[i] = static_cast<std::int64_t>(down + (nano > down * kNanoGpuPerMilli ? 1 : 0));
  }
  thresholds_[kThresholds] = std::numeric_limits<std::int64_t>::max();
  std::int64_t narrowest = thresholds_[1] - thresholds_[0];
  for (std::size_t i = 2; i < kThresholds; ++i) {
    narrowest = std::min(narrowest, thresholds_[i] - thresholds_[i - 1]);
  }
  shift_ = static_cast<unsigned>(std::bit_width(static_cast<std::uint64_t>(narrowest))) - 1;
  // All devices of a node from usable to not, and all of it taken; or the other way.
  lowest_ = -2 * std::int64_t{kMaxDevicesPerNode} * kMilli * table_.total_weight();
  const auto steps = static_cast<std::size_t>(-2 * lowest_) >> shift_;
  for (std::size_t step = 0; step <= steps; ++step) {
    const std::int64_t begin = lowest_ + static_cast<std::int64_t>(step << shift_);
    const auto least =
        std::upper_bound(thresholds_.begin(), thresholds_.begin() + kThresholds, begin);
    least_.push_back(static_cast<std::uint8_t>(least - thresholds_.begin()));
  }
}

Score Fgd::operator()(const NodeView& node, const Shape& shape, const DeviceChoice& choice) const {
  // F = idle − usable, and placing takes exactly what is asked from idle.
  return Rank(MilliTaken(node, shape, choice) * table_.total_weight() +
              table_.UsableChange(node, shape, choice));
}

std::unique_ptr<RowScorer> Fgd::Rows() const { return std::make_unique<FgdRows>(*this); }

}  // namespace gpusched
