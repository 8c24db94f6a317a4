#include "gpusched/journal/bytes.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "gpusched/base/rng.h"

namespace gpusched {
namespace {

enum class Colour : std::uint8_t { kRed, kGreen };

struct Pair {
  std::int64_t number = 0;
  std::string text;
};

}  // namespace

template <>
inline constexpr std::size_t kEnumValues<Colour> = 2;
template <>
inline constexpr std::size_t kMembers<Pair> = 2;

namespace {

using namespace std::string_literals;

constexpr std::uint64_t kMaxUnsigned = std::numeric_limits<std::uint64_t>::max();

template <class T>
std::string BytesOf(const T& value) {
  ByteWriter out;
  Write(out, value);
  return out.Take();
}

// The value of all these bytes, if they are the encoding of one.
template <class T>
std::optional<T> ValueOf(std::string_view bytes) {
  ByteReader in(bytes);
  T value{};
  if (!Read(in, value) || !in.AtEnd()) return std::nullopt;
  return value;
}

TEST(ByteWriter, WritesNumbersAsVarints) {
  EXPECT_EQ(BytesOf(std::uint64_t{0}), "\0"s);
  EXPECT_EQ(BytesOf(std::uint64_t{127}), "\x7F");
  EXPECT_EQ(BytesOf(std::uint64_t{128}), "\x80\x01");
  EXPECT_EQ(BytesOf(std::uint64_t{300}), "\xAC\x02");
  EXPECT_EQ(BytesOf(kMaxUnsigned), "\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\x01");
  EXPECT_EQ(BytesOf(std::int64_t{0}), "\0"s);
  EXPECT_EQ(BytesOf(std::int64_t{-1}), "\x01");
  EXPECT_EQ(BytesOf(std::int64_t{1}), "\x02");
  EXPECT_EQ(BytesOf(std::int64_t{-64}), "\x7F");
  EXPECT_EQ(BytesOf(std::int64_t{64}), "\x80\x01");
  EXPECT_EQ(BytesOf(std::numeric_limits<std::int64_t>::min()),
            "\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\x01");
}

TEST(ByteWriter, WritesTheRestAsItsHeaderSays) {
  EXPECT_EQ(BytesOf(true), "\x01");
  EXPECT_EQ(BytesOf(Colour::kGreen), "\x01");
  EXPECT_EQ(BytesOf("ab"s),
            "\x02"
            "ab");
  EXPECT_EQ(BytesOf(std::optional<bool>()), "\0"s);
  EXPECT_EQ(BytesOf(std::optional<bool>(false)), "\x01\0"s);
  EXPECT_EQ(BytesOf(std::vector<std::int64_t>{1, -1}), "\x02\x02\x01");
  EXPECT_EQ(BytesOf(std::variant<bool, std::string>("a")),
            "\x01\x01"
            "a");
  EXPECT_EQ(BytesOf(Pair{.number = 1, .text = "a"}),
            "\x02\x01"
            "a");
  ByteWriter out;
  out.Fixed64(0x0102030405060708);
  EXPECT_EQ(out.Take(), "\x08\x07\x06\x05\x04\x03\x02\x01");
  EXPECT_EQ(out.bytes(), "");
}

TEST(ByteReader, ReadsEachNumberBack) {
  Rng rng(1);
  for (int i = 0; i < 10'000; ++i) {
    const std::uint64_t bits = rng.Next() >> rng.Below(64);
    EXPECT_EQ(ValueOf<std::uint64_t>(BytesOf(bits)), bits);
    const auto number = static_cast<std::int64_t>(rng.Below(2) == 0 ? bits : 0 - bits);
    EXPECT_EQ(ValueOf<std::int64_t>(BytesOf(number)), number);
    ByteWriter out;
    out.Fixed64(bits);
    ByteReader in(out.bytes());
    std::uint64_t fixed = 0;
    EXPECT_TRUE(in.Fixed64(fixed) && in.AtEnd());
    EXPECT_EQ(fixed, bits);
  }
  for (const std::int64_t limit :
       {std::numeric_limits<std::int64_t>::min(), std::numeric_limits<std::int64_t>::max()}) {
    EXPECT_EQ(ValueOf<std::int64_t>(BytesOf(limit)), limit);
  }
}

TEST(ByteReader, RefusesWhatTheWriterNeverWrites) {
  // longer than needed, longer than any number, above 64 bits
  EXPECT_FALSE(ValueOf<std::uint64_t>("\x80\0"s));
  EXPECT_FALSE(ValueOf<std::uint64_t>("\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\x01"));
  EXPECT_FALSE(ValueOf<std::uint64_t>("\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\x02"));
  EXPECT_FALSE(ValueOf<bool>("\x02"));
  EXPECT_FALSE(ValueOf<Colour>("\x02"));
  EXPECT_FALSE(ValueOf<std::optional<bool>>("\x02\x01"));
  EXPECT_FALSE((ValueOf<std::variant<bool, std::string>>("\x02\x01")));
  // outside the narrower type
  EXPECT_FALSE(ValueOf<std::int32_t>(BytesOf(std::int64_t{1} << 31)));
  EXPECT_EQ(ValueOf<std::int32_t>(BytesOf(-(std::int64_t{1} << 31))),
            std::numeric_limits<std::int32_t>::min());
  EXPECT_FALSE(ValueOf<std::uint8_t>(BytesOf(std::uint64_t{256})));
}

TEST(ByteReader, RefusesWhatIsCut) {
  EXPECT_FALSE(ValueOf<std::uint64_t>(""));
  EXPECT_FALSE(ValueOf<std::uint64_t>("\x80"));
  EXPECT_FALSE(
      ValueOf<std::string>("\x03"
                           "ab"));
  EXPECT_FALSE(ValueOf<std::optional<bool>>("\x01"));
  EXPECT_FALSE((ValueOf<std::vector<std::int64_t>>("\x02\x02")));
  ByteReader in("1234567");
  std::uint64_t number = 0;
  EXPECT_FALSE(in.Fixed64(number));
  std::uint8_t byte = 0;
  EXPECT_FALSE(in.Byte(byte)) << "a failure stays";
}

TEST(ByteReader, AFailureStaysAndKeepsItsPlace) {
  ByteReader in("\x01\x02\x01");
  bool value = false;
  EXPECT_TRUE(Read(in, value));
  EXPECT_FALSE(Read(in, value));
  EXPECT_EQ(in.position(), 1U);
  std::uint64_t number = 0;
  std::string_view bytes;
  EXPECT_FALSE(in.Unsigned(number));
  EXPECT_FALSE(in.Raw(0, bytes));
  EXPECT_FALSE(in.ok());
  EXPECT_FALSE(in.AtEnd());
  EXPECT_EQ(in.position(), 1U);
}

// A list says that it has 2^63 items, or more than there are bytes: nothing is reserved for them.
TEST(ByteReader, ReservesNothingForItemsThatAreNotThere) {
  const std::string endless = BytesOf(std::uint64_t{1} << 63) + std::string(100, '\0');
  EXPECT_FALSE(ValueOf<std::vector<std::string>>(endless));
  EXPECT_FALSE(ValueOf<std::string>(endless));
  EXPECT_FALSE((ValueOf<std::vector<Pair>>(BytesOf(std::uint64_t{101}) + std::string(100, '\0'))));
  // As many items as bytes, but each takes two: read as far as they go.
  EXPECT_FALSE((ValueOf<std::vector<Pair>>(BytesOf(std::uint64_t{100}) + std::string(100, '\0'))));
  EXPECT_TRUE((ValueOf<std::vector<Pair>>(BytesOf(std::uint64_t{50}) + std::string(100, '\0'))));
}

TEST(ByteReader, TextMayHoldAnyByte) {
  const std::string text("a\0\xFF\n", 4);
  EXPECT_EQ(ValueOf<std::string>(BytesOf(text)), text);
}

}  // namespace
}  // namespace gpusched
