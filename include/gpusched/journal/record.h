// Records: the format of a journal on disk, and of a saved state.
//
// A line "gpusched journal 1\n" with the version of the format, then records, one after the other:
//
//   length   varint (see journal/bytes.h) of the payload
//   kind     1 byte: 1 snapshot, 2 event, 3 commit, 4 abort
//   payload  snapshot: the engine's own; event: Encode(Event); commit: EncodeCommit(plan); abort:
//            Encode(WithoutWaits(plan)) (journal/commit_record.h)
//   digest   8 bytes, least significant first: FNV-1a (base/digest.h) of the digest of the record
//            before, the kind and the payload with its length
//
// The record before the first is the line. So a record that is changed, missing or swapped shows
// at the latest at the next one, and what has come before it is whole.
#ifndef GPUSCHED_JOURNAL_RECORD_H_
#define GPUSCHED_JOURNAL_RECORD_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "gpusched/export.h"

namespace gpusched {

// The version of the format that this library writes, and the only one that it reads.
inline constexpr int kJournalVersion = 2;

enum class RecordKind : std::uint8_t {
  kSnapshot = 1,  // the whole state; what comes before it is not needed
  kEvent = 2,     // was applied
  kCommit = 3,    // a plan was committed
  kAbort = 4,     // a plan was aborted
};

// The stable text of a kind: "snapshot", "event", "commit", "abort".
constexpr std::string_view RecordKindName(RecordKind kind) {
  constexpr std::string_view kNames[] = {"", "snapshot", "event", "commit", "abort"};
  return kNames[static_cast<std::size_t>(kind)];
}

// Frames records one after the other. Copyable: a copy goes on from the same place.
class GPUSCHED_EXPORT RecordWriter {
 public:
  // For a new journal: the first record brings the line with the version along.
  RecordWriter() = default;

  // The bytes to append for a record. They count only once Accept has been called; until then the
  // next call frames another record for the same place. O(payload).
  std::string Frame(RecordKind kind, std::string_view payload);

  // Says that the bytes of the last Frame have been written.
  void Accept();

  // The digest of the last accepted record.
  std::uint64_t chain() const { return chain_; }

 private:
  friend struct Recovered;
  explicit RecordWriter(std::uint64_t chain) : chain_(chain), started_(true) {}

  std::uint64_t chain_ = 0;  // 0 until started
  std::uint64_t next_ = 0;   // what chain_ becomes when the last frame is accepted
  bool started_ = false;     // the line is there
};

// One record of a journal.
struct Record {
  RecordKind kind = RecordKind::kEvent;
  std::string_view payload;  // of the bytes given to Recover
  std::uint64_t at = 0;      // the byte at which the record begins
};

// What is wrong with the end of a journal, which is what comes after its valid part.
enum class JournalEnd : std::uint8_t {
  kWhole,         // nothing
  kCut,           // it stops within a record: what a crash while writing leaves
  kDamaged,       // bytes are not what was written, or are missing; whole records may follow
  kDoesNotApply,  // a whole record, but not one for this state (see Restore)
};

// What a journal holds, up to the first thing that is wrong with it.
struct GPUSCHED_EXPORT Recovered {
  std::vector<Record> records;
  // How far the bytes are good; appending starts here (FileJournal::KeepFirst).
  std::uint64_t valid_bytes = 0;
  // The digest of the last good record.
  std::uint64_t chain = 0;
  // What is wrong with the rest and where: "record 17 at byte 4711 is cut: 34 of 80 bytes". Empty
  // if all is well.
  std::string problem;
  // The same as a code; never kDoesNotApply. Only a cut end may be removed without a loss: a length
  // that is damaged and points beyond the end is told from it by the whole records that follow.
  JournalEnd end = JournalEnd::kWhole;

  // Frames what is to be appended at `valid_bytes`.
  RecordWriter Continue() const;
};

// Takes a journal apart; the payloads point into `bytes`. No bytes are a journal without records.
// Errors: kInvalidArgument if this is no journal, or one of another version. O(bytes).
GPUSCHED_EXPORT absl::StatusOr<Recovered> Recover(std::string_view bytes);

}  // namespace gpusched

#endif  // GPUSCHED_JOURNAL_RECORD_H_
