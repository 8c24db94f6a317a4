#include "gpusched/journal/members.h"

#include <gtest/gtest.h>

#include <cstddef>
#include <tuple>
#include <utility>

namespace gpusched {
namespace {

template <std::size_t kCount>
struct Numbers {};  // has kCount members, once specialised

// clang-format off
template <> struct Numbers<1> { int a; };
template <> struct Numbers<2> { int a, b; };
template <> struct Numbers<3> { int a, b, c; };
template <> struct Numbers<4> { int a, b, c, d; };
template <> struct Numbers<5> { int a, b, c, d, e; };
template <> struct Numbers<6> { int a, b, c, d, e, f; };
template <> struct Numbers<7> { int a, b, c, d, e, f, g; };
template <> struct Numbers<8> { int a, b, c, d, e, f, g, h; };
template <> struct Numbers<9> { int a, b, c, d, e, f, g, h, i; };
template <> struct Numbers<10> { int a, b, c, d, e, f, g, h, i, j; };
template <> struct Numbers<11> { int a, b, c, d, e, f, g, h, i, j, k; };
template <> struct Numbers<12> { int a, b, c, d, e, f, g, h, i, j, k, l; };
template <> struct Numbers<13> { int a, b, c, d, e, f, g, h, i, j, k, l, m; };
template <> struct Numbers<14> { int a, b, c, d, e, f, g, h, i, j, k, l, m, n; };
template <> struct Numbers<15> { int a, b, c, d, e, f, g, h, i, j, k, l, m, n, o; };
template <> struct Numbers<16> { int a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p; };
// clang-format on

}  // namespace

template <std::size_t kCount>
inline constexpr std::size_t kMembers<Numbers<kCount>> = kCount;

namespace {

// Each member is there once, in order.
template <std::size_t kCount>
void ExpectAllInOrder() {
  Numbers<kCount> numbers{};
  int next = 0;
  std::apply([&next](auto&... member) { ((member = ++next), ...); }, Members(numbers));
  static_assert(sizeof(numbers) == kCount * sizeof(int));
  static_assert(std::tuple_size_v<decltype(Members(numbers))> == kCount);
  EXPECT_EQ(next, static_cast<int>(kCount));
  const auto* first = reinterpret_cast<const int*>(&numbers);
  for (int i = 0; i < next; ++i) EXPECT_EQ(first[i], i + 1) << kCount;
}

TEST(Members, GivesEachMemberOnceInOrder) {
  []<std::size_t... I>(std::index_sequence<I...>) { (ExpectAllInOrder<I + 1>(), ...); }
  (std::make_index_sequence<16>());
}

TEST(Members, ReadsAConstant) {
  const Numbers<2> numbers{.a = 3, .b = 4};
  EXPECT_EQ(Members(numbers), std::make_tuple(3, 4));
}

TEST(CodedStruct, IsWhatHasANumberOfMembers) {
  static_assert(CodedStruct<Numbers<2>> && CodedStruct<const Numbers<2>>);
  static_assert(!CodedStruct<int> && !CodedStruct<std::tuple<int>>);
}

}  // namespace
}  // namespace gpusched
