#include "gpusched/journal/record.h"

#include <algorithm>
#include <optional>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "gpusched/base/digest.h"
#include "gpusched/journal/bytes.h"
#include "gpusched/spec/field_error.h"

namespace gpusched {
namespace {

constexpr std::string_view kMagic = "gpusched journal ";
constexpr std::size_t kDigestBytes = 8;

std::string HeaderLine() { return absl::StrCat(std::string(kMagic), kJournalVersion, "\n"); }

std::uint64_t FirstChain() { return Digest().AddBytes(HeaderLine()).value(); }

std::uint64_t NextChain(std::uint64_t chain, std::uint8_t kind, std::string_view payload) {
  return Digest()
      .AddNumber(static_cast<std::int64_t>(chain))
      .AddNumber(kind)
      .AddField(payload)
      .value();
}

bool IsKind(std::uint8_t kind) {
  return kind >= static_cast<std::uint8_t>(RecordKind::kSnapshot) &&
         kind <= static_cast<std::uint8_t>(RecordKind::kAbort);
}

// Reads one record at `start` and moves `chain` on; else says what is wrong with it.
std::string ReadRecord(std::string_view bytes, std::size_t start, Recovered& out) {
  ByteReader in(bytes.substr(start));
  const std::size_t there = in.remaining();
  std::uint64_t length = 0;
  if (!in.Unsigned(length)) {
    // A length that could go on is cut; one that is longer than any number, or than it need be,
    // was never written.
    const std::string_view rest = bytes.substr(start);
    const bool goes_on = there < 10 && std::all_of(rest.begin(), rest.end(), [](char c) {
                           return static_cast<std::uint8_t>(c) >= 0x80;
                         });
    return goes_on ? absl::StrCat("is cut: ", there, " bytes of its length")
                   : std::string("is damaged: its length is no number");
  }
  const std::size_t frame = in.position() + 1 + kDigestBytes;
  std::uint8_t kind = 0;
  std::string_view payload;
  std::uint64_t digest = 0;
  if (!in.Byte(kind) || !in.Raw(length, payload) || !in.Fixed64(digest)) {
    // A damaged length may be near 2^64; then the sum is left out instead of wrong.
    const std::uint64_t whole = length + frame;
    return whole < length ? absl::StrCat("is damaged: its length is ", length)
                          : absl::StrCat("is cut: ", there, " of ", whole, " bytes");
  }
  const std::uint64_t expected = NextChain(out.chain, kind, payload);
  if (digest != expected) {
    return absl::StrFormat("is damaged, or one before it is missing: digest %016x, expected %016x",
                           digest, expected);
  }
  if (!IsKind(kind)) return absl::StrCat("is of kind ", kind, ", which this version does not know");
  out.records.push_back({static_cast<RecordKind>(kind), payload, start});
  out.chain = expected;
  out.valid_bytes = start + in.position();
  return "";
}

// The version in the line that ends at `end`, if it is a number.
std::optional<std::uint64_t> VersionIn(std::string_view line) {
  std::uint64_t version = 0;
  if (line.empty() || line.size() > 9) return std::nullopt;
  for (const char c : line) {
    if (c < '0' || c > '9') return std::nullopt;
    version = version * 10 + static_cast<std::uint64_t>(c - '0');
  }
  return version;
}

}  // namespace

std::string RecordWriter::Frame(RecordKind kind, std::string_view payload) {
  ByteWriter out;
  if (!started_) out.Raw(HeaderLine());
  next_ = NextChain(started_ ? chain_ : FirstChain(), static_cast<std::uint8_t>(kind), payload);
  out.Unsigned(payload.size());
  out.Byte(static_cast<std::uint8_t>(kind));
  out.Raw(payload);
  out.Fixed64(next_);
  return out.Take();
}

void RecordWriter::Accept() {
  chain_ = next_;
  started_ = true;
}

RecordWriter Recovered::Continue() const {
  return valid_bytes == 0 ? RecordWriter() : RecordWriter(chain);
}

absl::StatusOr<Recovered> Recover(std::string_view bytes) {
  Recovered out;
  if (bytes.empty()) return out;
  const std::string header = HeaderLine();
  if (bytes.size() < header.size() && header.compare(0, bytes.size(), bytes) == 0) {
    out.problem =
        absl::StrCat("the first line is cut: ", bytes.size(), " of ", header.size(), " bytes");
    return out;
  }
  if (bytes.substr(0, kMagic.size()) != kMagic) {
    return InvalidField("journal", "the first line", "another file's",
                        absl::StrCat("expected '", std::string(kMagic), kJournalVersion, "'"));
  }
  // A version is short; a file without line breaks must not be searched to its end.
  const std::string_view rest = bytes.substr(kMagic.size(), 10);
  const std::optional<std::uint64_t> version = VersionIn(rest.substr(0, rest.find('\n')));
  if (bytes.substr(0, header.size()) != header) {
    return InvalidField("journal", "the format's version",
                        version ? absl::StrCat(*version) : std::string("no number"),
                        absl::StrCat("this library reads version ", kJournalVersion));
  }
  out.valid_bytes = header.size();
  out.chain = FirstChain();
  while (out.valid_bytes < bytes.size()) {
    const std::string problem = ReadRecord(bytes, out.valid_bytes, out);
    if (problem.empty()) continue;
    out.problem =
        absl::StrCat("record ", out.records.size() + 1, " at byte ", out.valid_bytes, " ", problem);
    break;
  }
  return out;
}

}  // namespace gpusched
