#include "gpusched/base/digest.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <string>

namespace gpusched {
namespace {

// Published FNV-1a vectors (64 bits).
TEST(Digest, GivesTheKnownValues) {
  EXPECT_EQ(Digest().value(), 0xcbf29ce484222325ULL);
  EXPECT_EQ(Digest().AddBytes("").value(), 0xcbf29ce484222325ULL);
  EXPECT_EQ(Digest().AddBytes("a").value(), 0xaf63dc4c8601ec8cULL);
  EXPECT_EQ(Digest().AddBytes("foobar").value(), 0x85944171f73967e8ULL);
}

TEST(Digest, TakesBytesInPieces) {
  EXPECT_EQ(Digest().AddBytes("foo").AddBytes("bar").value(), 0x85944171f73967e8ULL);
}

TEST(Digest, TakesBytesAbove127AsUnsigned) {
  EXPECT_EQ(Digest().AddBytes("\xff").value(), (0xcbf29ce484222325ULL ^ 0xff) * 0x100000001b3ULL);
}

TEST(Digest, NumbersAreEightBytesLeastFirst) {
  const std::string bytes("\x08\x07\x06\x05\x04\x03\x02\x01", 8);
  EXPECT_EQ(Digest().AddNumber(0x0102030405060708).value(), Digest().AddBytes(bytes).value());
  EXPECT_EQ(Digest().AddNumber(-1).value(), Digest().AddBytes(std::string(8, '\xff')).value());
}

TEST(Digest, FieldsDoNotRunTogether) {
  EXPECT_NE(Digest().AddField("ab").AddField("c").value(),
            Digest().AddField("a").AddField("bc").value());
  EXPECT_NE(Digest().AddField("").value(), Digest().value());
  EXPECT_EQ(Digest().AddField("ab").value(), Digest().AddNumber(2).AddBytes("ab").value());
}

TEST(Digest, WorksAtCompileTime) {
  static_assert(Digest().AddBytes("a").value() == 0xaf63dc4c8601ec8cULL);
}

}  // namespace
}  // namespace gpusched
