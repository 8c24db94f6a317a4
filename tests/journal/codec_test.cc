#include "gpusched/journal/codec.h"

#include <gtest/gtest.h>

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <variant>
#include <vector>

#include "gpusched/base/digest.h"
#include "gpusched/base/rng.h"
#include "gpusched/journal/bytes.h"
#include "gpusched/journal/members.h"
#include "gpusched/journal/record.h"
#include "journal/random_values.h"
#include "status_matchers.h"

namespace gpusched {
namespace {

constexpr auto kDataLoss = absl::StatusCode::kDataLoss;

absl::StatusOr<Event> Decode(const Event&, std::string_view bytes) { return DecodeEvent(bytes); }
absl::StatusOr<Plan> Decode(const Plan&, std::string_view bytes) { return DecodePlan(bytes); }

template <class T>
void ExpectRoundTrips(std::uint64_t seed) {
  Rng rng(seed);
  for (int i = 0; i < 3'000; ++i) {
    const T value = RandomValue<T>(rng);
    const std::string bytes = Encode(value);
    const auto decoded = Decode(value, bytes);
    ASSERT_TRUE(IsOk(decoded.status()));
    EXPECT_TRUE(Same(*decoded, value));
    EXPECT_EQ(Encode(*decoded), bytes);
  }
}

TEST(Codec, EventsRoundTrip) { ExpectRoundTrips<Event>(1); }

TEST(Codec, PlansRoundTrip) { ExpectRoundTrips<Plan>(2); }

TEST(Codec, EachKindOfEventAndStepIsTried) {
  Rng rng(1);
  std::vector<int> events(std::variant_size_v<Event>);
  std::vector<int> steps(std::variant_size_v<Step>);
  for (int i = 0; i < 3'000; ++i) {
    ++events[RandomValue<Event>(rng).index()];
    ++steps[RandomValue<Step>(rng).index()];
  }
  for (const int count : events) EXPECT_GT(count, 100);
  for (const int count : steps) EXPECT_GT(count, 100);
}

// Bytes that decode are those that the value encodes to, so nothing decodes from two encodings.
template <class T>
bool DecodesToItsOwnBytes(const std::string& bytes) {
  const auto decoded = Decode(T(), bytes);
  if (decoded.ok()) {
    EXPECT_EQ(Encode(*decoded), bytes);
  } else {
    EXPECT_TRUE(Refused(decoded, kDataLoss));
  }
  return decoded.ok();
}

template <class T>
void ExpectDamageIsNoHarm(std::uint64_t seed) {
  Rng rng(seed);
  for (int i = 0; i < 60; ++i) {
    const std::string bytes = Encode(RandomValue<T>(rng));
    for (std::size_t size = 0; size < bytes.size(); ++size) {
      EXPECT_TRUE(Refused(Decode(T(), bytes.substr(0, size)), kDataLoss, {"is unreadable"}));
    }
    EXPECT_TRUE(
        Refused(Decode(T(), bytes + '\0'), kDataLoss, {"bytes long; it should end after byte"}));
    for (std::size_t at = 0; at < bytes.size(); ++at) {
      std::string flipped = bytes;
      for (int bit = 0; bit < 8; ++bit) {
        flipped[at] = static_cast<char>(bytes[at] ^ (1 << bit));
        DecodesToItsOwnBytes<T>(flipped);
      }
      for (const char byte : {'\0', '\x7F', '\xFF'}) {
        flipped[at] = byte;
        DecodesToItsOwnBytes<T>(flipped);
      }
    }
  }
}

TEST(Codec, DamagedEventsAreNoHarm) { ExpectDamageIsNoHarm<Event>(3); }

TEST(Codec, DamagedPlansAreNoHarm) { ExpectDamageIsNoHarm<Plan>(4); }

TEST(Codec, RandomBytesAreNoHarm) {
  Rng rng(5);
  int decoded = 0;
  for (int i = 0; i < 100'000; ++i) {
    std::string bytes(rng.Below(60), '\0');
    // Half of the time small numbers, which get further.
    const std::uint64_t bound = rng.Below(2) == 0 ? 256 : 6;
    for (char& c : bytes) c = static_cast<char>(rng.Below(bound));
    if (DecodesToItsOwnBytes<Event>(bytes)) ++decoded;
    if (DecodesToItsOwnBytes<Plan>(bytes)) ++decoded;
  }
  EXPECT_GT(decoded, 100) << "the bytes are too random to get anywhere";
}

TEST(Codec, ErrorsSayWhere) {
  EXPECT_TRUE(Refused(DecodeEvent(""), kDataLoss, {"event: byte 1 of 0 is unreadable"}));
  const std::string unknown(1, static_cast<char>(std::variant_size_v<Event>));
  EXPECT_TRUE(Refused(DecodeEvent(unknown), kDataLoss, {"event: byte 1 of 1 is unreadable"}));
  EXPECT_TRUE(Refused(DecodePlan(std::string(6, '\0')), kDataLoss,
                      {"plan: the record is 6 bytes long; it should end after byte 4"}));
}

TEST(Codec, EnumsOutOfRangeAreRefused) {
  const auto refused = [](const Step& step) {
    return Refused(DecodePlan(Encode(Plan(0, 0, 0, {step}))), kDataLoss);
  };
  Evict evict;
  evict.cause = static_cast<EvictCause>(kEvictCauses);
  EXPECT_TRUE(refused(evict));
  Wait wait;
  wait.why.reason = static_cast<Reason>(kReasons);
  EXPECT_TRUE(refused(wait));
  SubmitJob submit;
  submit.job.kind = static_cast<JobKind>(2);
  EXPECT_TRUE(Refused(DecodeEvent(Encode(submit)), kDataLoss));
}

TEST(Codec, ReadableBytes) {
  EXPECT_EQ(Encode(Event(Tick{64})), "\x0D\x80\x01");
  EXPECT_EQ(Encode(Event(CancelJob{"job"})), "\x06\x03job");
  EXPECT_EQ(Encode(Event(TaskFailed{{.job = "j", .group = "g", .index = 2, .attempt = 1}})),
            "\x09\x01j\x01g\x04\x02");
}

// Counts up through all members, so that none has the value of another. Enums get 1, lists one
// item.
class Counter {
 public:
  void Fill(bool& value) { value = true; }
  void Fill(std::string& text) { text = std::to_string(++last_); }
  void Fill(DeviceMask& devices) { devices = DeviceMask(static_cast<std::uint64_t>(++last_)); }
  template <std::integral T>
  void Fill(T& value) {
    value = static_cast<T>(++last_);
  }
  template <CodedEnum T>
  void Fill(T& value) {
    value = static_cast<T>(1);
  }
  template <class T>
  void Fill(std::optional<T>& value) {
    Fill(value.emplace());
  }
  template <class T>
  void Fill(std::vector<T>& list) {
    Fill(list.emplace_back());
  }
  template <CodedStruct T>
  void Fill(T& value) {
    std::apply([this](auto&... member) { (this->Fill(member), ...); }, Members(value));
  }

 private:
  int last_ = 0;
};

// The first kCount alternatives of a variant, each counted through.
template <class Variant, std::size_t kCount>
std::vector<Variant> Counted() {
  Counter counter;
  std::vector<Variant> values;
  [&]<std::size_t... I>(std::index_sequence<I...>) {
    (counter.Fill(values.emplace_back().template emplace<I>()), ...);
  }
  (std::make_index_sequence<kCount>());
  return values;
}

// The format is a promise. If this fails because members have come or were swapped, or kinds were
// not appended, then kJournalVersion must change, and the digest with it.
TEST(Codec, BytesAreThoseOfVersionTwo) {
  static_assert(kJournalVersion == 2);
  Digest digest;
  for (const Event& event : Counted<Event, 14>()) digest.AddField(Encode(event));
  digest.AddField(Encode(Plan(1, 2, 3, Counted<Step, 4>())));
  EXPECT_EQ(digest.value(), 18373399629543447249U);
}

// What a snapshot is made of: structs on their own, in lists and optionals.
TEST(Codec, PartsRoundTripAlone) {
  Rng rng(7);
  for (int i = 0; i < 300; ++i) {
    const auto jobs = RandomValue<std::vector<JobSpec>>(rng);
    const auto node = RandomValue<std::optional<NodeSpec>>(rng);
    const auto shape = RandomValue<ShapeSpec>(rng);
    const auto devices = RandomValue<DeviceMask>(rng);
    const auto plan = RandomValue<Plan>(rng);
    ByteWriter out;
    Write(out, jobs);
    Write(out, node);
    Write(out, shape);
    Write(out, devices);
    Write(out, plan);
    std::vector<JobSpec> jobs_read;
    std::optional<NodeSpec> node_read;
    ShapeSpec shape_read;
    DeviceMask devices_read;
    Plan plan_read;
    ByteReader in(out.bytes());
    ASSERT_TRUE(Read(in, jobs_read) && Read(in, node_read) && Read(in, shape_read) &&
                Read(in, devices_read) && Read(in, plan_read) && in.AtEnd());
    EXPECT_TRUE(Same(jobs_read, jobs) && Same(node_read, node) && Same(shape_read, shape));
    EXPECT_TRUE(devices_read == devices && plan_read == plan);
  }
}

}  // namespace
}  // namespace gpusched
