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

// The least that a record takes: length, kind and digest.
constexpr std::size_t kLeastBytes = 2 + kDigestBytes;

// Of a record in bytes that may be none: where it ends, judged by its length alone; or nothing.
struct Outline {
  std::uint8_t kind;
  std::string_view payload;
  std::uint64_t digest;
  std::size_t end;
};

std::optional<Outline> OutlineAt(std::string_view bytes, std::size_t start) {
  ByteReader in(bytes.substr(start));
  std::uint64_t length = 0;
  Outline out{};
  if (!in.Unsigned(length) || !in.Byte(out.kind) || !IsKind(out.kind) ||
      !in.Raw(length, out.payload) || !in.Fixed64(out.digest)) {
    return std::nullopt;
  }
  out.end = start + in.position();
  return out;
}

// A record of which only the length is damaged and that is the last one: everything from its kind
// on is as the digest says.
bool IsWholeButForItsLength(std::string_view bytes, std::size_t start, std::uint64_t chain) {
  constexpr std::size_t kLongestLength = 10;
  std::uint64_t digest = 0;
  if (bytes.size() - start < kLeastBytes ||
      !ByteReader(bytes.substr(bytes.size() - kDigestBytes)).Fixed64(digest)) {
    return false;
  }
  for (std::size_t size = 1; size <= kLongestLength; ++size) {
    const std::size_t at = start + size;
    if (at + 1 + kDigestBytes > bytes.size()) return false;
    const std::string_view payload = bytes.substr(at + 1, bytes.size() - kDigestBytes - at - 1);
    const auto kind = static_cast<std::uint8_t>(bytes[at]);
    if (IsKind(kind) && digest == NextChain(chain, kind, payload)) return true;
  }
  return false;
}

// Whether records seem to stand one behind the other from here, judged by lengths and kinds. A look
// at the next few is enough to tell most numbers from records.
bool LooksLikeRecords(std::string_view bytes, std::size_t at) {
  for (int i = 0; i < 8 && at + kLeastBytes <= bytes.size(); ++i) {
    const std::optional<Outline> record = OutlineAt(bytes, at);
    if (!record) {
      // The last one may be cut.
      ByteReader in(bytes.substr(at));
      std::uint64_t length = 0;
      std::uint8_t kind = 0;
      return in.Unsigned(length) && in.Byte(kind) && IsKind(kind) && length > in.remaining();
    }
    at = record->end;
  }
  return true;
}

// Whether a record runs beyond the end because its length is damaged, and not because the end is
// cut: then it, or one after it, is still there. Each place is tried at which a record may begin;
// the digest of the one before it stands in front of it. What takes longer than the budget, which
// bytes must be made for, is taken for damage, so that nothing is lost. O(bytes from `start`).
bool LengthIsDamaged(std::string_view bytes, std::size_t start, std::uint64_t chain) {
  if (IsWholeButForItsLength(bytes, start, chain)) return true;
  constexpr std::size_t kLarge = 1024;
  std::size_t budget = (bytes.size() - start + kLarge) * 256;
  for (std::size_t at = start + kLeastBytes; at + kLeastBytes <= bytes.size(); ++at) {
    const std::optional<Outline> record = OutlineAt(bytes, at);
    // A digest over many bytes is dear, and in a large snapshot much looks like a length and a
    // kind.
    if (!record || (record->payload.size() > kLarge && !LooksLikeRecords(bytes, record->end))) {
      continue;
    }
    std::uint64_t before = 0;
    if (!ByteReader(bytes.substr(at - kDigestBytes)).Fixed64(before)) continue;
    if (record->digest == NextChain(before, record->kind, record->payload)) return true;
    if (record->payload.size() >= budget) return true;
    budget -= record->payload.size();
  }
  return false;
}

// What is wrong with a record.
struct Fault {
  JournalEnd end = JournalEnd::kWhole;
  std::string text;
};

// Reads one record at `start` and moves `chain` on; else says what is wrong with it.
Fault ReadRecord(std::string_view bytes, std::size_t start, Recovered& out) {
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
    if (goes_on) return {JournalEnd::kCut, absl::StrCat("is cut: ", there, " bytes of its length")};
    return {JournalEnd::kDamaged, "is damaged: its length is no number"};
  }
  const std::size_t frame = in.position() + 1 + kDigestBytes;
  std::uint8_t kind = 0;
  std::string_view payload;
  std::uint64_t digest = 0;
  if (!in.Byte(kind) || !in.Raw(length, payload) || !in.Fixed64(digest)) {
    // A damaged length may be near 2^64; then the sum is left out instead of wrong.
    const std::uint64_t whole = length + frame;
    if (whole < length || LengthIsDamaged(bytes, start, out.chain)) {
      return {JournalEnd::kDamaged, absl::StrCat("is damaged: its length is ", length)};
    }
    return {JournalEnd::kCut, absl::StrCat("is cut: ", there, " of ", whole, " bytes")};
  }
  const std::uint64_t expected = NextChain(out.chain, kind, payload);
  if (digest != expected) {
    return {JournalEnd::kDamaged,
            absl::StrFormat("is damaged, or one before it is missing: digest %016x, expected %016x",
                            digest, expected)};
  }
  if (!IsKind(kind)) {
    return {JournalEnd::kDamaged,
            absl::StrCat("is of kind ", kind, ", which this version does not know")};
  }
  out.records.push_back({static_cast<RecordKind>(kind), payload, start});
  out.chain = expected;
  out.valid_bytes = start + in.position();
  return {};
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
    out.end = JournalEnd::kCut;
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
    const Fault fault = ReadRecord(bytes, out.valid_bytes, out);
    if (fault.end == JournalEnd::kWhole) continue;
    out.end = fault.end;
    out.problem = absl::StrCat("record ", out.records.size() + 1, " at byte ", out.valid_bytes, " ",
                               fault.text);
    break;
  }
  return out;
}

}  // namespace gpusched
