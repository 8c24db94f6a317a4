// FileJournal: a journal in a file of the local file system.
#ifndef GPUSCHED_JOURNAL_FILE_JOURNAL_H_
#define GPUSCHED_JOURNAL_FILE_JOURNAL_H_

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "gpusched/export.h"
#include "gpusched/journal/journal.h"

namespace gpusched {

// What an appended record survives.
enum class Durability : std::uint8_t {
  kProcess,  // the end of this process: the operating system has it
  kMachine,  // the end of the machine: the disk has it; each append waits for that
};

// Appends to one file, which it locks (flock) against other writers that lock it too, in this
// process and others; the lock ends with it, or with the process. Thread-compatible.
//
// Errors carry the path and the system's text. Of opening: kNotFound, kPermissionDenied,
// kInvalidArgument for what is no regular file, kFailedPrecondition if another writer has it,
// kUnavailable for the rest.
class GPUSCHED_EXPORT FileJournal final : public Journal {
 public:
  struct Opened;

  // Begins a file that does not exist, or in which no first record stands: it is empty, or a crash
  // has cut that record (see Recover); then it is begun anew. Errors: kAlreadyExists for any other.
  static absl::StatusOr<std::unique_ptr<FileJournal>> Create(
      std::string path, Durability durability = Durability::kProcess);

  // Opens a file to go on with it, and reads it once it is locked, so that nobody can append in
  // between. Appends go to its end; call KeepFirst before if not all of it is valid. O(bytes).
  static absl::StatusOr<Opened> Open(std::string path,
                                     Durability durability = Durability::kProcess);

  FileJournal(const FileJournal&) = delete;
  FileJournal& operator=(const FileJournal&) = delete;
  ~FileJournal() override;

  // Appends all of it, or restores the length as it was. Errors: kResourceExhausted if there is no
  // room (disk, quota, or largest file), else kUnavailable. If the length can't be restored either,
  // each further append tries that first and is refused until it has worked.
  absl::Status Append(std::string_view bytes) override;

  // Removes what is beyond the first `bytes` (see Recovered::valid_bytes). Errors:
  // kInvalidArgument if it has fewer; kUnavailable, and then as a failed Append.
  absl::Status KeepFirst(std::uint64_t bytes);

  bool empty() const override { return size_ == 0; }
  const std::string& path() const { return path_; }
  // Bytes in the file, with what was there before.
  std::uint64_t size() const { return size_; }

 private:
  FileJournal(std::string path, int descriptor, Durability durability);

  static absl::StatusOr<std::unique_ptr<FileJournal>> Lock(std::string path, int flags,
                                                           Durability durability);
  // Whether a crash has cut the first record, so that nothing in the file counts.
  absl::StatusOr<bool> HasNoRecord() const;
  absl::Status Restore();

  std::string path_;
  int descriptor_;
  Durability durability_;
  std::uint64_t size_ = 0;
  bool beyond_size_ = false;  // the file may be longer than size_
};

struct FileJournal::Opened {
  std::unique_ptr<FileJournal> journal;
  std::string bytes;  // all of the file
};

// The whole file. Errors: as of opening a journal, whoever else has it open. O(bytes).
GPUSCHED_EXPORT absl::StatusOr<std::string> ReadFile(const std::string& path);

}  // namespace gpusched

#endif  // GPUSCHED_JOURNAL_FILE_JOURNAL_H_
