#include "gpusched/journal/snapshot_codec.h"

#include <gtest/gtest.h>

#include <cstddef>
#include <string>

#include "gpusched/base/rng.h"
#include "journal/random_values.h"

namespace gpusched {
namespace {

std::string BytesOf(const StateSnapshot& snapshot) {
  ByteWriter out;
  Write(out, snapshot);
  return out.Take();
}

bool Parse(std::string_view bytes, StateSnapshot& snapshot) {
  ByteReader in(bytes);
  return Read(in, snapshot) && in.AtEnd();
}

TEST(SnapshotCodec, RandomSnapshotsRoundTrip) {
  Rng rng(1);
  int jobs = 0;
  for (int i = 0; i < 500; ++i) {
    const auto snapshot = RandomValue<StateSnapshot>(rng);
    StateSnapshot decoded;
    ASSERT_TRUE(Parse(BytesOf(snapshot), decoded));
    EXPECT_TRUE(Same(decoded, snapshot));
    EXPECT_EQ(BytesOf(decoded), BytesOf(snapshot));
    jobs += static_cast<int>(snapshot.jobs.size());
  }
  EXPECT_GT(jobs, 200);
}

TEST(SnapshotCodec, NothingIsMadeOfBytesThatAreCut) {
  Rng rng(2);
  for (int i = 0; i < 20; ++i) {
    const std::string bytes = BytesOf(RandomValue<StateSnapshot>(rng));
    for (std::size_t size = 0; size < bytes.size(); ++size) {
      StateSnapshot decoded;
      ASSERT_FALSE(Parse(std::string_view(bytes).substr(0, size), decoded)) << size;
    }
  }
}

// What a damaged byte makes of them is read or refused, and never more than there is.
TEST(SnapshotCodec, DamagedBytesAreNoHarm) {
  Rng rng(3);
  int read = 0;
  for (int i = 0; i < 8; ++i) {
    std::string bytes = BytesOf(RandomValue<StateSnapshot>(rng));
    for (std::size_t at = 0; at < bytes.size(); ++at) {
      const char before = bytes[at];
      for (const char byte : {'\0', '\x7F', '\xFF', static_cast<char>(before ^ 1)}) {
        bytes[at] = byte;
        StateSnapshot decoded;
        if (!Parse(bytes, decoded)) continue;
        ++read;
        ASSERT_EQ(BytesOf(decoded), bytes) << "two encodings of one value";
      }
      bytes[at] = before;
    }
  }
  EXPECT_GT(read, 100);
}

}  // namespace
}  // namespace gpusched
