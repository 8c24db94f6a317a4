#include "gpusched/journal/record.h"

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "gpusched/base/digest.h"
#include "gpusched/base/rng.h"
#include "status_matchers.h"

namespace gpusched {
namespace {

constexpr std::string_view kLine = "gpusched journal 2\n";

struct Sample {
  RecordKind kind;
  std::string payload;
};

const std::vector<Sample>& Samples() {
  static const std::vector<Sample> samples = {{RecordKind::kSnapshot, std::string(300, 's')},
                                              {RecordKind::kEvent, "first"},
                                              {RecordKind::kEvent, "other"},
                                              {RecordKind::kCommit, ""},
                                              {RecordKind::kAbort, std::string("\0\xFF\n", 3)}};
  return samples;
}

// A journal of the samples, and where its line and each of its records ends.
struct Journalled {
  std::string bytes;
  std::vector<std::size_t> ends = {kLine.size()};
};

Journalled WriteSamples() {
  Journalled out;
  RecordWriter writer;
  for (const Sample& sample : Samples()) {
    out.bytes += writer.Frame(sample.kind, sample.payload);
    writer.Accept();
    out.ends.push_back(out.bytes.size());
  }
  return out;
}

// That the first `count` samples were recovered and nothing else.
void ExpectSamples(const Recovered& recovered, std::size_t count) {
  ASSERT_EQ(recovered.records.size(), count);
  for (std::size_t i = 0; i < count; ++i) {
    EXPECT_EQ(recovered.records[i].kind, Samples()[i].kind);
    EXPECT_EQ(recovered.records[i].payload, Samples()[i].payload);
  }
}

TEST(Record, RecordsComeBack) {
  const Journalled journal = WriteSamples();
  const auto recovered = Recover(journal.bytes);
  ASSERT_TRUE(IsOk(recovered.status()));
  EXPECT_EQ(recovered->problem, "");
  EXPECT_EQ(recovered->valid_bytes, journal.bytes.size());
  ExpectSamples(*recovered, Samples().size());
  for (std::size_t i = 0; i < Samples().size(); ++i) {
    EXPECT_EQ(recovered->records[i].at, journal.ends[i]);
  }
}

// As the header of record.h says, for who reads it with another program.
TEST(Record, TheFormatIsAsDocumented) {
  RecordWriter writer;
  const std::string bytes = writer.Frame(RecordKind::kEvent, "ab");
  const std::uint64_t line = Digest().AddBytes(kLine).value();
  const std::uint64_t digest =
      Digest().AddNumber(static_cast<std::int64_t>(line)).AddNumber(2).AddField("ab").value();
  std::string expected(kLine);
  expected +=
      "\x02\x02"
      "ab";
  for (int shift = 0; shift < 64; shift += 8) expected += static_cast<char>(digest >> shift);
  EXPECT_EQ(bytes, expected);
  writer.Accept();
  EXPECT_EQ(writer.chain(), digest);
}

TEST(Record, NoBytesAreAJournalWithoutRecords) {
  const auto recovered = Recover("");
  ASSERT_TRUE(IsOk(recovered.status()));
  EXPECT_EQ(recovered->problem, "");
  EXPECT_EQ(recovered->valid_bytes, 0U);
  EXPECT_TRUE(recovered->records.empty());
  RecordWriter writer = recovered->Continue();
  EXPECT_EQ(writer.Frame(RecordKind::kEvent, "a").substr(0, kLine.size()), kLine);
}

TEST(Record, ALineAloneIsAJournalWithoutRecords) {
  const auto recovered = Recover(kLine);
  ASSERT_TRUE(IsOk(recovered.status()));
  EXPECT_EQ(recovered->problem, "");
  EXPECT_EQ(recovered->valid_bytes, kLine.size());
  RecordWriter writer = recovered->Continue();
  const std::string bytes = std::string(kLine) + writer.Frame(RecordKind::kEvent, "a");
  EXPECT_EQ(bytes, RecordWriter().Frame(RecordKind::kEvent, "a"));
}

TEST(Record, AFrameThatIsNotAcceptedLeavesNoTrace) {
  RecordWriter writer;
  const std::string first = writer.Frame(RecordKind::kEvent, "a");
  writer.Frame(RecordKind::kEvent, "lost");
  EXPECT_EQ(writer.Frame(RecordKind::kEvent, "a"), first) << "with the line again";
  writer.Accept();
  writer.Frame(RecordKind::kEvent, "lost too");
  const auto recovered = Recover(first + writer.Frame(RecordKind::kEvent, "b"));
  ASSERT_TRUE(IsOk(recovered.status()));
  EXPECT_EQ(recovered->problem, "");
  EXPECT_EQ(recovered->records.size(), 2U);
}

TEST(Record, EachTruncationGivesTheWholeRecordsBeforeIt) {
  const Journalled journal = WriteSamples();
  for (std::size_t size = 0; size < journal.bytes.size(); ++size) {
    const auto recovered = Recover(std::string_view(journal.bytes).substr(0, size));
    ASSERT_TRUE(IsOk(recovered.status())) << size;
    std::size_t whole = 0;
    while (whole + 1 < journal.ends.size() && journal.ends[whole + 1] <= size) ++whole;
    ExpectSamples(*recovered, whole);
    if (size < kLine.size()) {
      EXPECT_EQ(recovered->valid_bytes, 0U);
      EXPECT_EQ(recovered->problem.empty(), size == 0);
      EXPECT_EQ(recovered->end, size == 0 ? JournalEnd::kWhole : JournalEnd::kCut);
      continue;
    }
    EXPECT_EQ(recovered->valid_bytes, journal.ends[whole]);
    EXPECT_EQ(recovered->problem.empty(), size == journal.ends[whole]) << recovered->problem;
    EXPECT_EQ(recovered->end, size == journal.ends[whole] ? JournalEnd::kWhole : JournalEnd::kCut);
    if (!recovered->problem.empty()) {
      EXPECT_NE(recovered->problem.find("is cut: "), std::string::npos) << recovered->problem;
    }
  }
}

TEST(Record, GoesOnAfterATruncation) {
  const Journalled journal = WriteSamples();
  for (std::size_t size = 0; size <= journal.bytes.size(); size += 3) {
    const std::string rest = journal.bytes.substr(0, size);
    const auto recovered = Recover(rest);
    ASSERT_TRUE(IsOk(recovered.status()));
    RecordWriter writer = recovered->Continue();
    std::string bytes = rest.substr(0, recovered->valid_bytes);
    bytes += writer.Frame(RecordKind::kEvent, "new");
    writer.Accept();
    bytes += writer.Frame(RecordKind::kAbort, "newer");
    const auto again = Recover(bytes);
    ASSERT_TRUE(IsOk(again.status()));
    EXPECT_EQ(again->problem, "");
    ASSERT_EQ(again->records.size(), recovered->records.size() + 2);
    EXPECT_EQ(again->records.back().payload, "newer");
  }
}

TEST(Record, NoFlippedBitIsOverlooked) {
  const Journalled journal = WriteSamples();
  for (std::size_t at = 0; at < journal.bytes.size(); ++at) {
    for (int bit = 0; bit < 8; ++bit) {
      std::string bytes = journal.bytes;
      bytes[at] = static_cast<char>(bytes[at] ^ (1 << bit));
      const auto recovered = Recover(bytes);
      if (at < kLine.size()) {
        EXPECT_TRUE(Refused(recovered, absl::StatusCode::kInvalidArgument));
        continue;
      }
      ASSERT_TRUE(IsOk(recovered.status()));
      EXPECT_NE(recovered->problem, "") << at;
      EXPECT_EQ(recovered->end, JournalEnd::kDamaged) << at << ": " << recovered->problem;
      std::size_t whole = 0;
      while (journal.ends[whole + 1] <= at) ++whole;
      ExpectSamples(*recovered, whole);
      EXPECT_EQ(recovered->valid_bytes, journal.ends[whole]);
    }
  }
}

// A length that points beyond the end is not taken for a cut end: what follows would be lost.
TEST(Record, ADamagedLengthIsToldFromACutEnd) {
  const Journalled journal = WriteSamples();
  for (std::size_t record = 0; record < Samples().size(); ++record) {
    for (const char* length : {"\x7F", "\xFF\x7F", "\xFF\xFF\x7F"}) {
      std::string bytes = journal.bytes;
      bytes.replace(journal.ends[record], record == 0 ? 2 : 1, length);
      // Also if the last record is cut besides, as long as a whole one is before it.
      for (const std::size_t cut : {0U, 1U}) {
        if (cut == 1 && record + 2 >= Samples().size()) continue;
        const auto recovered = Recover(std::string_view(bytes).substr(0, bytes.size() - cut));
        ASSERT_TRUE(IsOk(recovered.status()));
        ExpectSamples(*recovered, record);
        EXPECT_EQ(recovered->end, JournalEnd::kDamaged) << record << ": " << recovered->problem;
      }
    }
  }
}

// Large, and full of numbers that look like lengths and kinds.
TEST(Record, ACutLargeSnapshotIsCut) {
  Rng rng(1);
  std::string payload;
  while (payload.size() < 1'000'000) {
    const std::uint64_t number = rng.Below(8);
    if (number > 4) payload += std::string("\x80\xFA\x01", 3);  // 32000
    payload += static_cast<char>(number);
  }
  const std::string bytes = RecordWriter().Frame(RecordKind::kSnapshot, payload);
  const auto recovered = Recover(std::string_view(bytes).substr(0, bytes.size() - 1));
  ASSERT_TRUE(IsOk(recovered.status()));
  EXPECT_EQ(recovered->end, JournalEnd::kCut) << recovered->problem;
}

TEST(Record, MissingSwappedAndRepeatedRecordsAreFound) {
  const Journalled journal = WriteSamples();
  const auto record = [&](std::size_t i) {
    return journal.bytes.substr(journal.ends[i], journal.ends[i + 1] - journal.ends[i]);
  };
  const std::string line(kLine);
  const struct {
    std::string bytes;
    std::size_t good;
  } cases[] = {{line + record(1) + record(2), 0},
               {line + record(0) + record(2) + record(3), 1},
               {line + record(0) + record(2) + record(1), 1},
               {line + record(0) + record(0), 1},
               {line + record(0) + record(1) + record(1), 2}};
  for (const auto& c : cases) {
    const auto recovered = Recover(c.bytes);
    ASSERT_TRUE(IsOk(recovered.status()));
    ExpectSamples(*recovered, c.good);
    EXPECT_NE(recovered->problem.find("is damaged, or one before it is missing: digest "),
              std::string::npos)
        << recovered->problem;
  }
}

TEST(Record, ProblemsSayWhatAndWhere) {
  const Journalled journal = WriteSamples();
  const auto problem = [](std::string_view bytes) {
    const auto recovered = Recover(bytes);
    return recovered.ok() ? recovered->problem : recovered.status().ToString();
  };
  EXPECT_EQ(problem(journal.bytes.substr(0, 7)), "the first line is cut: 7 of 19 bytes");
  // The snapshot takes 2 + 1 + 300 + 8 bytes.
  EXPECT_EQ(problem(journal.bytes.substr(0, 19 + 34)),
            "record 1 at byte 19 is cut: 34 of 311 bytes");
  EXPECT_EQ(problem(journal.bytes.substr(0, 19 + 311 + 14)),
            "record 2 at byte 330 is cut: 14 of 15 bytes");
  const auto after_line = [](std::string_view bytes) { return std::string(kLine).append(bytes); };
  EXPECT_EQ(problem(after_line("\x80")), "record 1 at byte 19 is cut: 1 bytes of its length");
  EXPECT_EQ(problem(std::string(kLine) + std::string(11, '\xFF')),
            "record 1 at byte 19 is damaged: its length is no number");
  EXPECT_EQ(problem(after_line("\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\x01")),
            "record 1 at byte 19 is damaged: its length is 18446744073709551615");
  // What a file system may leave of a write that a power cut has interrupted.
  EXPECT_NE(problem(std::string(kLine) + std::string(4096, '\0')).find("record 1 at byte 19 is "),
            std::string::npos);
  RecordWriter writer;
  const std::string unknown = writer.Frame(static_cast<RecordKind>(9), "");
  EXPECT_EQ(problem(unknown), "record 1 at byte 19 is of kind 9, which this version does not know");
}

TEST(Record, OtherFilesAndVersionsAreRefused) {
  constexpr auto kInvalid = absl::StatusCode::kInvalidArgument;
  EXPECT_TRUE(Refused(Recover("#!/bin/sh\n"), kInvalid,
                      {"the first line is another file's", "'gpusched journal 2'"}));
  EXPECT_TRUE(Refused(Recover(std::string(1000, '\0')), kInvalid, {"another file's"}));
  EXPECT_TRUE(Refused(Recover("gpusched journal 1\nabc"), kInvalid,
                      {"version is 1; this library reads version 2"}));
  EXPECT_TRUE(Refused(Recover("gpusched journal 12\n"), kInvalid, {"version is 12;"}));
  EXPECT_TRUE(Refused(Recover("gpusched journal x\n"), kInvalid, {"version is no number"}));
  EXPECT_TRUE(Refused(Recover("gpusched journal 2 \n"), kInvalid, {"version is no number"}));
  EXPECT_TRUE(Refused(Recover("gpusched journal " + std::string(100, '1')), kInvalid));
}

TEST(Record, RandomBytesAreNoHarm) {
  Rng rng(1);
  for (int i = 0; i < 20'000; ++i) {
    std::string bytes(rng.Below(100), '\0');
    const std::uint64_t bound = rng.Below(2) == 0 ? 256 : 12;
    for (char& c : bytes) c = static_cast<char>(rng.Below(bound));
    const auto recovered = Recover(std::string(kLine) + bytes);
    ASSERT_TRUE(IsOk(recovered.status()));
    EXPECT_TRUE(recovered->records.empty());
    EXPECT_EQ(recovered->problem.empty(), bytes.empty());
  }
}

TEST(RecordKind, HasAStableName) {
  EXPECT_EQ(RecordKindName(RecordKind::kSnapshot), "snapshot");
  EXPECT_EQ(RecordKindName(RecordKind::kEvent), "event");
  EXPECT_EQ(RecordKindName(RecordKind::kCommit), "commit");
  EXPECT_EQ(RecordKindName(RecordKind::kAbort), "abort");
}

}  // namespace
}  // namespace gpusched
