#include "gpusched/spec/mig_geometry.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cstdlib>
#include <map>
#include <set>
#include <sstream>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "gpusched/spec/gpu_model.h"
#include "quoted_csv.h"

namespace gpusched {
namespace {

const MigGeometry& BuiltIn(std::string_view name) {
  const auto all = ModelCatalog::BuiltInMig();
  const auto it = std::find_if(all.begin(), all.end(),
                               [&](const MigGeometry& g) { return g.spec().name == name; });
  EXPECT_NE(it, all.end()) << name;
  return it == all.end() ? all.front() : *it;
}

std::size_t Profile(const MigGeometry& geometry, std::string_view name) {
  const auto index = geometry.FindProfile(name);
  EXPECT_TRUE(index.has_value()) << name;
  return index.value_or(0);
}

// The slices that instances take, e.g. {{"1g.5gb", 0}, {"1g.5gb", 5}}.
SliceMask Occupied(const MigGeometry& geometry,
                   const std::vector<std::pair<std::string_view, int>>& instances) {
  unsigned occupied = 0;
  for (const auto& [name, start] : instances) {
    const unsigned slices = geometry.Footprint(Profile(geometry, name), start);
    EXPECT_EQ(occupied & slices, 0U) << name << " at " << start;
    occupied |= slices;
  }
  return static_cast<SliceMask>(occupied);
}

std::vector<int> Starts(SliceMask starts) {
  std::vector<int> list;
  for (int i = 0; i < kMaxMigSlices; ++i) {
    if (((starts >> i) & 1) != 0) list.push_back(i);
  }
  return list;
}

// The free start that leaves the slices with the highest value; the lowest of equals; -1: none.
int BestStart(const MigGeometry& geometry, std::string_view name, SliceMask occupied) {
  const std::size_t profile = Profile(geometry, name);
  int best = -1;
  std::int32_t highest = -1;
  for (const int start : Starts(geometry.FreeStarts(profile, occupied))) {
    const auto with = static_cast<SliceMask>(occupied | geometry.Footprint(profile, start));
    if (geometry.Value(with) <= highest) continue;
    highest = geometry.Value(with);
    best = start;
  }
  return best;
}

TEST(MigGeometry, FindsProfilesByExactName) {
  const MigGeometry& a100 = BuiltIn("A100-40GB");
  EXPECT_EQ(a100.FindProfile("1g.5gb"), 0U);
  EXPECT_EQ(a100.FindProfile("7g.40gb"), 6U);
  EXPECT_EQ(a100.FindProfile("1G.5gb"), std::nullopt);
  EXPECT_EQ(a100.FindProfile("1g.6gb"), std::nullopt);
  EXPECT_EQ(a100.FindProfile(""), std::nullopt);
  EXPECT_EQ(a100.profile(2).name, "1g.10gb");
  EXPECT_EQ(a100.profile_count(), a100.spec().profiles.size());
}

TEST(MigGeometry, LegalStartsAreThoseOfTheProfile) {
  const MigGeometry& a100 = BuiltIn("A100-40GB");
  const std::size_t two = Profile(a100, "2g.10gb");
  for (const int start : {-1, 0, 1, 2, 3, 4, 5, 6, 7, 8, 1000}) {
    EXPECT_EQ(a100.LegalStart(two, start), start == 0 || start == 2 || start == 4) << start;
  }
  // The eighth memory slice belongs to nobody alone: there are seven compute slices.
  EXPECT_TRUE(a100.LegalStart(0, 6));
  EXPECT_FALSE(a100.LegalStart(0, 7));
}

TEST(MigGeometry, FootprintsBeginAtTheStart) {
  const MigGeometry& a100 = BuiltIn("A100-40GB");
  EXPECT_EQ(a100.Footprint(Profile(a100, "1g.5gb"), 6), 0b0100'0000);
  EXPECT_EQ(a100.Footprint(Profile(a100, "2g.10gb"), 2), 0b0000'1100);
  EXPECT_EQ(a100.Footprint(Profile(a100, "3g.20gb"), 4), 0b1111'0000);
  EXPECT_EQ(a100.Footprint(Profile(a100, "4g.20gb"), 0), 0b0000'1111);
  EXPECT_EQ(a100.Footprint(Profile(a100, "7g.40gb"), 0), 0b1111'1111);
}

// A lone 3g at 0 would be in the way of a 4g; a lone 1g at 6 spoils least.
TEST(MigGeometry, ValueLeadsToTheStartThatKeepsLargeProfilesPossible) {
  const MigGeometry& a100 = BuiltIn("A100-40GB");
  EXPECT_EQ(BestStart(a100, "3g.20gb", 0), 4);
  EXPECT_EQ(BestStart(a100, "1g.5gb", 0), 6);
  EXPECT_EQ(BestStart(a100, "4g.20gb", 0), 0);
  EXPECT_EQ(BestStart(a100, "3g.20gb", Occupied(a100, {{"4g.20gb", 0}})), 4);
  EXPECT_EQ(BestStart(a100, "4g.20gb", Occupied(a100, {{"3g.20gb", 4}})), 0);
  EXPECT_EQ(BestStart(a100, "4g.20gb", Occupied(a100, {{"3g.20gb", 0}})), -1);
}

// Five of seven slices are free, and yet there is no room for a 3g.
TEST(MigGeometry, ScatteredSmallInstancesKeepLargeOnesOut) {
  const MigGeometry& a100 = BuiltIn("A100-40GB");
  const SliceMask used = Occupied(a100, {{"1g.5gb", 0}, {"1g.5gb", 1}, {"1g.5gb", 5}});
  EXPECT_EQ(Starts(a100.FreeStarts(Profile(a100, "2g.10gb"), used)), std::vector<int>{2});
  EXPECT_EQ(Starts(a100.FreeStarts(Profile(a100, "3g.20gb"), used)), std::vector<int>{});
  EXPECT_EQ(Starts(a100.FreeStarts(Profile(a100, "4g.20gb"), used)), std::vector<int>{});
  EXPECT_EQ(Starts(a100.FreeStarts(Profile(a100, "7g.40gb"), used)), std::vector<int>{});
  EXPECT_EQ(Starts(a100.FreeStarts(Profile(a100, "1g.5gb"), used)), (std::vector<int>{2, 3, 4, 6}));
  EXPECT_EQ(Starts(a100.FreeStarts(Profile(a100, "1g.10gb"), used)), (std::vector<int>{2, 6}));
}

// Four times one compute slice, but all the memory.
TEST(MigGeometry, MemoryMayRunOutBeforeCompute) {
  const MigGeometry& a100 = BuiltIn("A100-40GB");
  const SliceMask used =
      Occupied(a100, {{"1g.10gb", 0}, {"1g.10gb", 2}, {"1g.10gb", 4}, {"1g.10gb", 6}});
  EXPECT_EQ(used, 0xFF);
  for (std::size_t p = 0; p < a100.profile_count(); ++p) {
    EXPECT_EQ(a100.FreeStarts(p, used), 0) << a100.profile(p).name;
  }
  EXPECT_EQ(a100.Value(used), 0);
}

TEST(MigGeometry, UnitsAreDigitsOfTheValue) {
  const MigGeometry& a100 = BuiltIn("A100-40GB");
  EXPECT_EQ(a100.Unit(Profile(a100, "1g.5gb")), 1);
  EXPECT_EQ(a100.Unit(Profile(a100, "1g.10gb")), 8);              // 7 starts of 1g.5gb
  EXPECT_EQ(a100.Unit(Profile(a100, "2g.10gb")), 8 * 5);          // 4 of 1g.10gb
  EXPECT_EQ(a100.Unit(Profile(a100, "3g.20gb")), 8 * 5 * 4);      // 3 of 2g.10gb
  EXPECT_EQ(a100.Unit(Profile(a100, "4g.20gb")), 8 * 5 * 4 * 3);  // 2 of 3g.20gb
  EXPECT_EQ(a100.Unit(Profile(a100, "7g.40gb")), 8 * 5 * 4 * 3 * 2);
  EXPECT_EQ(a100.Unit(Profile(a100, "1g.5gb+me")), 0);
  EXPECT_EQ(a100.Value(0), 8 * 5 * 4 * 3 * 2 * 2 - 1) << "every digit is as high as it goes";
}

// --- every built-in geometry, against code that knows only what a profile is
// ----------------------

struct Piece {
  std::size_t profile = 0;
  std::int32_t start = 0;
};
using Slices = std::array<bool, kMaxMigSlices>;

std::vector<Piece> PiecesOf(const MigGeometrySpec& spec, const std::set<std::string>& without) {
  std::vector<Piece> pieces;
  for (std::size_t p = 0; p < spec.profiles.size(); ++p) {
    if (spec.profiles[p].media_extensions || without.count(spec.profiles[p].name) > 0) continue;
    for (const std::int32_t start : spec.profiles[p].starts) pieces.push_back({p, start});
  }
  return pieces;
}

bool Fits(const MigGeometrySpec& spec, const Piece& piece, const Slices& used) {
  for (std::int32_t i = 0; i < spec.profiles[piece.profile].memory_slices; ++i) {
    if (used.at(static_cast<std::size_t>(piece.start + i))) return false;
  }
  return true;
}

void Fill(const MigGeometrySpec& spec, const Piece& piece, Slices& used, bool value) {
  for (std::int32_t i = 0; i < spec.profiles[piece.profile].memory_slices; ++i) {
    used.at(static_cast<std::size_t>(piece.start + i)) = value;
  }
}

SliceMask MaskOf(const Slices& used) {
  unsigned mask = 0;
  for (std::size_t i = 0; i < used.size(); ++i) mask |= used[i] ? 1U << i : 0U;
  return static_cast<SliceMask>(mask);
}

// Calls visit(used slices, number of instances, whether nothing more fits) for every layout once:
// each piece in turn is left out, or taken if it fits.
template <class F>
void ForEachLayout(const MigGeometrySpec& spec, const std::vector<Piece>& pieces, std::size_t from,
                   Slices& used, int count, const F& visit) {
  if (from == pieces.size()) {
    const bool full = std::none_of(pieces.begin(), pieces.end(),
                                   [&](const Piece& piece) { return Fits(spec, piece, used); });
    visit(used, count, full);
    return;
  }
  ForEachLayout(spec, pieces, from + 1, used, count, visit);
  if (!Fits(spec, pieces[from], used)) return;
  Fill(spec, pieces[from], used, true);
  ForEachLayout(spec, pieces, from + 1, used, count + 1, visit);
  Fill(spec, pieces[from], used, false);
}

int MaximalLayouts(const MigGeometrySpec& spec, const std::set<std::string>& without) {
  int maximal = 0;
  Slices used{};
  ForEachLayout(spec, PiecesOf(spec, without), 0, used, 0,
                [&](const Slices&, int, bool full) { maximal += full ? 1 : 0; });
  return maximal;
}

// The profile with one compute slice and the memory of two; "" if there is none.
std::string WideMemoryProfile(const MigGeometrySpec& spec) {
  for (const MigProfile& profile : spec.profiles) {
    if (profile.compute_slices == 1 && profile.memory_slices == 2) return profile.name;
  }
  return "";
}

// The user guide counts 19 layouts of an A100, from the time before 1g.10gb, and 5 of an A30.
TEST(MigGeometryOracle, MaximalLayoutsAreAsManyAsPublished) {
  for (const MigGeometry& geometry : ModelCatalog::BuiltInMig()) {
    const MigGeometrySpec& spec = geometry.spec();
    SCOPED_TRACE(spec.name);
    if (spec.memory_slices == 4) {
      EXPECT_EQ(MaximalLayouts(spec, {}), 5);
    } else {
      const std::string wide = WideMemoryProfile(spec);
      EXPECT_NE(wide, "");
      EXPECT_EQ(MaximalLayouts(spec, {wide}), 19);
      EXPECT_EQ(MaximalLayouts(spec, {}), 78);
    }
  }
}

TEST(MigGeometryOracle, FreeStartsAgreeWithWhatFitsInEveryReachableState) {
  for (const MigGeometry& geometry : ModelCatalog::BuiltInMig()) {
    const MigGeometrySpec& spec = geometry.spec();
    SCOPED_TRACE(spec.name);
    std::set<SliceMask> seen;
    std::int64_t wrong = 0;
    Slices used{};
    ForEachLayout(spec, PiecesOf(spec, {}), 0, used, 0, [&](const Slices& slices, int, bool) {
      const SliceMask occupied = MaskOf(slices);
      if (!seen.insert(occupied).second) return;
      for (std::size_t p = 0; p < spec.profiles.size(); ++p) {
        const std::vector<std::int32_t>& legal = spec.profiles[p].starts;
        for (std::int32_t start = 0; start < kMaxMigSlices; ++start) {
          const bool listed = std::find(legal.begin(), legal.end(), start) != legal.end();
          const bool free = ((geometry.FreeStarts(p, occupied) >> start) & 1) != 0;
          wrong += geometry.LegalStart(p, start) != listed ? 1 : 0;
          wrong += free != (listed && Fits(spec, {p, start}, slices)) ? 1 : 0;
        }
      }
    });
    EXPECT_EQ(wrong, 0);
    // With the small profile at every start but the last slice of 8, each set of those is reached.
    EXPECT_GE(seen.size(), spec.memory_slices == 4 ? 16U : 128U);
  }
}

// Starts of one profile do not overlap, so as many instances fit at once as there are free starts.
TEST(MigGeometryOracle, FreeStartsOfAProfileAreHowManyFitAtOnce) {
  for (const MigGeometry& geometry : ModelCatalog::BuiltInMig()) {
    const MigGeometrySpec& spec = geometry.spec();
    SCOPED_TRACE(spec.name);
    for (std::size_t p = 0; p < spec.profiles.size(); ++p) {
      std::vector<Piece> pieces;
      for (const std::int32_t start : spec.profiles[p].starts) pieces.push_back({p, start});
      for (unsigned occupied = 0; occupied < 1U << spec.memory_slices; ++occupied) {
        Slices used{};
        for (std::size_t i = 0; i < used.size(); ++i) used.at(i) = ((occupied >> i) & 1U) != 0;
        int most = 0;
        ForEachLayout(spec, pieces, 0, used, 0,
                      [&](const Slices&, int count, bool) { most = std::max(most, count); });
        ASSERT_EQ(std::popcount(geometry.FreeStarts(p, static_cast<SliceMask>(occupied))), most)
            << spec.profiles[p].name << " with " << occupied;
      }
    }
  }
}

TEST(MigGeometryOracle, NoLayoutTakesMoreComputeSlicesThanThereAre) {
  for (const MigGeometry& geometry : ModelCatalog::BuiltInMig()) {
    const MigGeometrySpec& spec = geometry.spec();
    std::vector<Piece> pieces = PiecesOf(spec, {});
    // Counted in the order of pieces, which is that of taking them.
    std::int32_t most = 0;
    const auto walk = [&](const auto& self, std::size_t from, Slices& used,
                          std::int32_t compute) -> void {
      most = std::max(most, compute);
      for (std::size_t i = from; i < pieces.size(); ++i) {
        if (!Fits(spec, pieces[i], used)) continue;
        Fill(spec, pieces[i], used, true);
        self(self, i + 1, used, compute + spec.profiles[pieces[i].profile].compute_slices);
        Fill(spec, pieces[i], used, false);
      }
    };
    Slices used{};
    walk(walk, 0, used, 0);
    EXPECT_EQ(most, spec.compute_slices) << spec.name;
  }
}

// Counts of free starts, the most valuable profile first, compared as a dictionary would.
std::vector<int> Counts(const MigGeometry& geometry, SliceMask occupied) {
  std::map<std::pair<int, int>, int> by_size;  // (memory slices, compute slices) to free starts
  for (std::size_t p = 0; p < geometry.profile_count(); ++p) {
    const MigProfile& profile = geometry.profile(p);
    if (profile.media_extensions) continue;
    by_size[{profile.memory_slices, profile.compute_slices}] =
        std::popcount(geometry.FreeStarts(p, occupied));
  }
  std::vector<int> counts;
  for (auto it = by_size.rbegin(); it != by_size.rend(); ++it) counts.push_back(it->second);
  return counts;
}

TEST(MigGeometryOracle, ValueIsHigherExactlyIfALargerProfileFitsMoreOften) {
  for (const MigGeometry& geometry : ModelCatalog::BuiltInMig()) {
    SCOPED_TRACE(geometry.spec().name);
    std::vector<std::vector<int>> counts;
    for (unsigned mask = 0; mask < 256; ++mask) {
      counts.push_back(Counts(geometry, static_cast<SliceMask>(mask)));
    }
    std::int64_t wrong = 0;
    for (unsigned a = 0; a < 256; ++a) {
      for (unsigned b = 0; b < 256; ++b) {
        const auto value_a = geometry.Value(static_cast<SliceMask>(a));
        const auto value_b = geometry.Value(static_cast<SliceMask>(b));
        wrong += (value_a < value_b) != (counts[a] < counts[b]) ? 1 : 0;
        if ((a & b) == a) wrong += value_a < value_b ? 1 : 0;  // b has all of a occupied
      }
    }
    EXPECT_EQ(wrong, 0);
    EXPECT_LT(geometry.Value(0), 1 << 15);
  }
}

// --- against the table of published facts
// ---------------------------------------------------------

std::int64_t Number(const std::string& text) { return Thousandths(text) / 1000; }

TEST(MigGeometryData, EveryRowOfTheTableIsABuiltInProfile) {
  const char* data = std::getenv("GPUSCHED_DATA");
  if (data == nullptr) GTEST_SKIP() << "GPUSCHED_DATA is not set: no table to read";
  const auto rows = ReadQuotedCsv(std::string(data) + "/mig_profiles.csv");
  ASSERT_FALSE(rows.empty());
  std::map<std::string, std::vector<CsvRow>> groups;
  for (const CsvRow& row : rows) {
    const std::string& name = row.at("model");
    groups[name.substr(0, name.find('/'))].push_back(row);
  }
  EXPECT_EQ(groups.size(), ModelCatalog::BuiltInMig().size());
  for (const auto& [name, group] : groups) {
    SCOPED_TRACE(name);
    const MigGeometry& geometry = BuiltIn(name);
    const MigGeometrySpec& spec = geometry.spec();
    ASSERT_EQ(spec.name, name);
    ASSERT_EQ(spec.profiles.size(), group.size());
    bool mem_published = true;
    bool starts_published = true;
    for (std::size_t i = 0; i < group.size(); ++i) {
      const CsvRow& row = group[i];
      const MigProfile& profile = spec.profiles[i];
      EXPECT_EQ(profile.name, row.at("profile"));
      SCOPED_TRACE(profile.name);
      EXPECT_EQ(profile.compute_slices, Number(row.at("compute_slices")));
      EXPECT_EQ(profile.memory_slices, Number(row.at("memory_slices")));
      EXPECT_EQ(spec.memory_slices, Number(row.at("total_memory_slices")));
      EXPECT_EQ(profile.media_extensions, row.at("media") == "+me");
      std::istringstream legal(row.at("legal_starts"));
      std::vector<std::int32_t> starts;
      for (std::int32_t start = 0; legal >> start;) starts.push_back(start);
      EXPECT_EQ(profile.starts, starts);
      const std::int64_t most = Number(row.at("max_instances"));
      EXPECT_EQ(profile.media_extensions ? 1 : std::popcount(geometry.FreeStarts(i, 0)), most);
      const std::string& nvml = row.at("memory_mib_nvml");
      if (nvml.empty()) mem_published = false;
      const std::int64_t gigabytes = Number(row.at("memory_gb_name"));
      EXPECT_EQ(profile.mem_mib,
                nvml.empty() ? gigabytes * 1'000'000'000 / (1 << 20) : Number(nvml));
      const std::string& flags = row.at("flags");
      for (const char* word : {"INFERRED", "no own listing"}) {
        if (flags.find(word) != std::string::npos) starts_published = false;
      }
    }
    std::vector<std::string> unsourced;
    if (!mem_published) unsourced.emplace_back("mem_mib");
    if (!starts_published) unsourced.emplace_back("starts");
    EXPECT_EQ(spec.unsourced, unsourced);
  }
}

}  // namespace
}  // namespace gpusched
