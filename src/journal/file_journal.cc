#include "gpusched/journal/file_journal.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <system_error>
#include <utility>

#include "absl/strings/str_cat.h"
#include "gpusched/journal/record.h"
#include "gpusched/spec/field_error.h"

namespace gpusched {
namespace {

// Calls until a signal does not interrupt; -1 is an error, which errno names.
template <class Call>
auto Retried(Call call) {
  auto result = call();
  while (result == -1 && errno == EINTR) result = call();
  return result;
}

absl::StatusCode CodeOf(int error) {
  switch (error) {
    case ENOENT:
    case ENOTDIR:
      return absl::StatusCode::kNotFound;
    case EACCES:
    case EPERM:
    case EROFS:
      return absl::StatusCode::kPermissionDenied;
    case EISDIR:
    case ENXIO:
    case ELOOP:
    case ENAMETOOLONG:
      return absl::StatusCode::kInvalidArgument;
    default:
      return absl::StatusCode::kUnavailable;
  }
}

bool IsNoRoom(int error) { return error == ENOSPC || error == EDQUOT || error == EFBIG; }

// "journal '/var/x': cannot open it: Permission denied (errno 13)"
absl::Status SystemError(absl::StatusCode code, const char* what, const std::string& path,
                         const std::string& attempt, int error) {
  return absl::Status(code,
                      absl::StrCat(what, " ", Quoted(path), ": cannot ", attempt, ": ",
                                   std::system_category().message(error), " (errno ", error, ")"));
}

// Its length, if it is a regular file.
absl::StatusOr<std::uint64_t> LengthOf(const char* what, int descriptor, const std::string& path) {
  struct stat info {};
  if (fstat(descriptor, &info) == -1) {
    return SystemError(CodeOf(errno), what, path, "look at it", errno);
  }
  if (!S_ISREG(info.st_mode)) {
    return InvalidField(absl::StrCat(what, " ", Quoted(path)), "the file", "no regular file",
                        "use a path on a disk");
  }
  return static_cast<std::uint64_t>(info.st_size);
}

// All of it, whatever its length turns out to be: it may grow or shrink meanwhile.
absl::StatusOr<std::string> ReadAll(const char* what, int descriptor, const std::string& path,
                                    std::uint64_t length) {
  constexpr std::size_t kBlock = std::size_t{1} << 20;
  std::string bytes;
  for (std::size_t size = 0;;) {
    bytes.resize(size + std::max<std::size_t>(kBlock, length > size ? length - size + 1 : 0));
    const ssize_t part = Retried([&] {
      return pread(descriptor, bytes.data() + size, bytes.size() - size, static_cast<off_t>(size));
    });
    if (part == -1) return SystemError(CodeOf(errno), what, path, "read it", errno);
    size += static_cast<std::size_t>(part);
    if (part > 0) continue;
    bytes.resize(size);
    return bytes;
  }
}

// Makes the name of a new file last. Some file systems can't, and say EINVAL; they need not.
absl::Status SyncFolderOf(const std::string& path) {
  const std::size_t slash = path.rfind('/');
  const std::string folder = slash == std::string::npos ? "."
                             : slash == 0               ? "/"
                                                        : path.substr(0, slash);
  const int descriptor =
      Retried([&] { return open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC); });
  if (descriptor == -1) {
    return SystemError(CodeOf(errno), "journal", path, "open its folder", errno);
  }
  const int error = Retried([&] { return fsync(descriptor); }) == -1 ? errno : 0;
  close(descriptor);
  if (error == 0 || error == EINVAL) return absl::OkStatus();
  return SystemError(CodeOf(error), "journal", path, "write its folder", error);
}

}  // namespace

FileJournal::FileJournal(std::string path, int descriptor, Durability durability)
    : path_(std::move(path)), descriptor_(descriptor), durability_(durability) {}

FileJournal::~FileJournal() {
  // Without a retry: the descriptor is gone even if close is interrupted.
  close(descriptor_);
}

absl::StatusOr<std::unique_ptr<FileJournal>> FileJournal::Lock(std::string path, int flags,
                                                               Durability durability) {
  // O_NONBLOCK, so that opening a pipe by mistake does not wait for its other end.
  const int descriptor = Retried(
      [&] { return open(path.c_str(), flags | O_RDWR | O_CLOEXEC | O_NOCTTY | O_NONBLOCK, 0644); });
  if (descriptor == -1) return SystemError(CodeOf(errno), "journal", path, "open it", errno);
  // Closes the descriptor from here on, whatever happens.
  std::unique_ptr<FileJournal> journal(new FileJournal(std::move(path), descriptor, durability));
  // Before the lock, which would be taken on anything.
  if (const auto length = LengthOf("journal", descriptor, journal->path_); !length.ok()) {
    return length.status();
  }
  if (Retried([&] { return flock(descriptor, LOCK_EX | LOCK_NB); }) == -1) {
    if (errno != EWOULDBLOCK) {
      return SystemError(CodeOf(errno), "journal", journal->path_, "lock it", errno);
    }
    return absl::FailedPreconditionError(absl::StrCat("journal ", Quoted(journal->path_),
                                                      ": another writer has it; close that first"));
  }
  // Anew: another writer may have appended before its lock ended.
  const auto length = LengthOf("journal", descriptor, journal->path_);
  if (!length.ok()) return length.status();
  journal->size_ = *length;
  return journal;
}

absl::StatusOr<std::unique_ptr<FileJournal>> FileJournal::Create(std::string path,
                                                                 Durability durability) {
  auto journal = Lock(std::move(path), O_CREAT, durability);
  if (!journal.ok()) return journal;
  if (!(*journal)->empty()) {
    const absl::StatusOr<bool> nothing = (*journal)->HasNoRecord();
    if (!nothing.ok()) return nothing.status();
    if (!*nothing) {
      return FieldError(absl::StatusCode::kAlreadyExists, "journal " + Quoted((*journal)->path_),
                        "the file", absl::StrCat((*journal)->size_, " bytes long"),
                        "use another path, or recover it and go on");
    }
    GPUSCHED_RETURN_IF_ERROR((*journal)->KeepFirst(0));
  }
  if (durability == Durability::kMachine) {
    GPUSCHED_RETURN_IF_ERROR(SyncFolderOf((*journal)->path_));
  }
  return journal;
}

absl::StatusOr<FileJournal::Opened> FileJournal::Open(std::string path, Durability durability) {
  auto journal = Lock(std::move(path), 0, durability);
  if (!journal.ok()) return journal.status();
  const FileJournal& file = **journal;
  absl::StatusOr<std::string> bytes = ReadAll("journal", file.descriptor_, file.path_, file.size_);
  if (!bytes.ok()) return bytes.status();
  // Of a writer that takes no lock.
  (*journal)->size_ = bytes->size();
  return Opened{.journal = *std::move(journal), .bytes = *std::move(bytes)};
}

absl::StatusOr<bool> FileJournal::HasNoRecord() const {
  // A large file of another kind shows at once; it must not be read to its end.
  constexpr std::uint64_t kHead = 64;
  for (const std::uint64_t size : {std::min(size_, kHead), size_}) {
    const absl::StatusOr<std::string> bytes = ReadAll("journal", descriptor_, path_, size);
    if (!bytes.ok()) return bytes.status();
    const absl::StatusOr<Recovered> recovered = Recover(*bytes);
    // A line alone is whole, but is only ever written with a record.
    if (!recovered.ok() || !recovered->records.empty() || recovered->end == JournalEnd::kDamaged) {
      return false;
    }
  }
  return true;
}

absl::Status FileJournal::KeepFirst(std::uint64_t bytes) {
  if (bytes > size_) {
    return InvalidField("journal " + Quoted(path_), "bytes", absl::StrCat(bytes),
                        absl::StrCat("the file has ", size_, "; is it the one that was read?"));
  }
  if (bytes == size_ && !beyond_size_) return absl::OkStatus();
  size_ = bytes;
  return Restore();
}

absl::Status FileJournal::Append(std::string_view bytes) {
  if (beyond_size_) GPUSCHED_RETURN_IF_ERROR(Restore());
  if (bytes.empty()) return absl::OkStatus();
  std::size_t written = 0;
  int error = 0;
  while (written < bytes.size() && error == 0) {
    const ssize_t part = Retried([&] {
      return pwrite(descriptor_, bytes.data() + written, bytes.size() - written,
                    static_cast<off_t>(size_ + written));
    });
    if (part > 0) {
      written += static_cast<std::size_t>(part);
    } else {
      // Nothing written and no error is not to be had for a regular file, but must not loop.
      error = part == 0 ? EIO : errno;
    }
  }
  const char* attempt = "write";
  if (error == 0 && durability_ == Durability::kMachine) {
    attempt = "bring to the disk";
    if (Retried([&] { return fdatasync(descriptor_); }) == -1) error = errno;
  }
  if (error == 0) {
    size_ += bytes.size();
    return absl::OkStatus();
  }
  absl::Status status = SystemError(
      IsNoRoom(error) ? absl::StatusCode::kResourceExhausted : absl::StatusCode::kUnavailable,
      "journal", path_,
      absl::StrCat(attempt, " ", bytes.size(), " bytes at byte ", size_, " (", written,
                   " written)"),
      error);
  beyond_size_ = true;
  if (const absl::Status restored = Restore(); !restored.ok()) {
    return absl::Status(status.code(), absl::StrCat(std::string(status.message()), "; then ",
                                                    std::string(restored.message())));
  }
  return status;
}

absl::Status FileJournal::Restore() {
  beyond_size_ = true;
  int failed = Retried([&] { return ftruncate(descriptor_, static_cast<off_t>(size_)); });
  // A record that was refused must not come back after a crash of the machine.
  if (failed == 0 && durability_ == Durability::kMachine) {
    failed = Retried([&] { return fdatasync(descriptor_); });
  }
  if (failed != 0) {
    return SystemError(absl::StatusCode::kUnavailable, "journal", path_,
                       absl::StrCat("cut it back to ", size_, " bytes"), errno);
  }
  beyond_size_ = false;
  return absl::OkStatus();
}

absl::StatusOr<std::string> ReadFile(const std::string& path) {
  const int descriptor =
      Retried([&] { return open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK); });
  if (descriptor == -1) return SystemError(CodeOf(errno), "file", path, "open it", errno);
  const absl::StatusOr<std::uint64_t> length = LengthOf("file", descriptor, path);
  if (!length.ok()) {
    close(descriptor);
    return length.status();
  }
  absl::StatusOr<std::string> bytes = ReadAll("file", descriptor, path, *length);
  close(descriptor);
  return bytes;
}

}  // namespace gpusched
