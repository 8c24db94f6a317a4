#include "gpusched/journal/file_journal.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <utility>

#include "gpusched/journal/record.h"
#include "status_matchers.h"

namespace gpusched {
namespace {

// A folder that goes with the test.
class FileJournalTest : public testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = (std::filesystem::temp_directory_path() / "gpusched-XXXXXX").string();
    ASSERT_NE(mkdtemp(pattern.data()), nullptr);
    folder_ = pattern;
  }
  void TearDown() override {
    std::error_code ignored;
    std::filesystem::remove_all(folder_, ignored);
  }

  std::string Path(const std::string& name = "journal") const { return folder_ + "/" + name; }

  static void WriteFile(const std::string& path, const std::string& bytes) {
    std::ofstream(path, std::ios::binary) << bytes;
  }

  static std::string Contents(const std::string& path) {
    auto bytes = ReadFile(path);
    EXPECT_TRUE(IsOk(bytes.status()));
    return bytes.ok() ? *std::move(bytes) : std::string();
  }

 private:
  std::string folder_;
};

// No file of this process grows beyond `bytes` while this lives: what a full disk is like.
class FileSizeLimit {
 public:
  explicit FileSizeLimit(rlim_t bytes) {
    getrlimit(RLIMIT_FSIZE, &before_);
    // The default is to end the process.
    handler_ = std::signal(SIGXFSZ, SIG_IGN);
    rlimit limit = before_;
    limit.rlim_cur = bytes;
    setrlimit(RLIMIT_FSIZE, &limit);
  }
  ~FileSizeLimit() {
    setrlimit(RLIMIT_FSIZE, &before_);
    std::signal(SIGXFSZ, handler_);
  }
  FileSizeLimit(const FileSizeLimit&) = delete;
  FileSizeLimit& operator=(const FileSizeLimit&) = delete;

 private:
  rlimit before_{};
  void (*handler_)(int) = nullptr;
};

TEST_F(FileJournalTest, AppendsOneAfterTheOther) {
  for (const Durability durability : {Durability::kProcess, Durability::kMachine}) {
    const std::string path = Path(durability == Durability::kProcess ? "process" : "machine");
    auto journal = FileJournal::Create(path, durability);
    ASSERT_TRUE(IsOk(journal.status()));
    EXPECT_EQ((*journal)->path(), path);
    EXPECT_TRUE(IsOk((*journal)->Append("one")));
    EXPECT_TRUE(IsOk((*journal)->Append("")));
    EXPECT_EQ(Contents(path), "one") << "there before the next";
    EXPECT_TRUE(IsOk((*journal)->Append(std::string("\0two", 4))));
    EXPECT_EQ((*journal)->size(), 7U);
    EXPECT_EQ(Contents(path), std::string("one\0two", 7));
  }
}

TEST_F(FileJournalTest, LargeRecordsComeBackWhole) {
  std::string large(std::size_t{5} << 20, 'x');
  for (std::size_t i = 0; i < large.size(); i += 101) large[i] = static_cast<char>(i & 0xFF);
  auto journal = FileJournal::Create(Path());
  ASSERT_TRUE(IsOk(journal.status()));
  EXPECT_TRUE(IsOk((*journal)->Append(large)));
  EXPECT_TRUE(IsOk((*journal)->Append("end")));
  EXPECT_TRUE(Contents(Path()) == large + "end");
}

TEST_F(FileJournalTest, CreateTakesAnEmptyFileAndNoOther) {
  WriteFile(Path(), "");
  EXPECT_TRUE(IsOk(FileJournal::Create(Path()).status()));
  WriteFile(Path(), "12345");
  EXPECT_TRUE(Refused(FileJournal::Create(Path()), absl::StatusCode::kAlreadyExists,
                      {Path(), "5 bytes long", "use another path"}));
  EXPECT_EQ(Contents(Path()), "12345");
}

// A crash before the first record was whole: nothing of it counts.
TEST_F(FileJournalTest, CreateBeginsAnewWhereNoFirstRecordStands) {
  RecordWriter writer;
  std::string whole = writer.Frame(RecordKind::kSnapshot, std::string(300, 's'));
  for (std::size_t size = 0; size < whole.size(); ++size) {
    WriteFile(Path(), whole.substr(0, size));
    auto journal = FileJournal::Create(Path());
    ASSERT_TRUE(IsOk(journal.status())) << size;
    EXPECT_TRUE((*journal)->empty());
    EXPECT_EQ(Contents(Path()), "") << size;
  }
  constexpr auto kCode = absl::StatusCode::kAlreadyExists;
  WriteFile(Path(), whole);
  EXPECT_TRUE(Refused(FileJournal::Create(Path()), kCode));
  writer.Accept();
  const std::string two = whole + writer.Frame(RecordKind::kEvent, "e");
  WriteFile(Path(), two.substr(0, two.size() - 1));
  EXPECT_TRUE(Refused(FileJournal::Create(Path()), kCode));
  // Damaged, in its payload or in its length, and not cut.
  for (const std::size_t at : {std::size_t{40}, std::size_t{20}}) {
    std::string damaged = two;
    damaged[at] = static_cast<char>(damaged[at] ^ 4);
    WriteFile(Path(), damaged);
    EXPECT_TRUE(Refused(FileJournal::Create(Path()), kCode));
    EXPECT_EQ(Contents(Path()), damaged);
  }
}

TEST_F(FileJournalTest, OpenReadsAndKeepFirstRemovesWhatIsBeyond) {
  WriteFile(Path(), "good|torn");
  auto opened = FileJournal::Open(Path(), Durability::kMachine);
  ASSERT_TRUE(IsOk(opened.status()));
  EXPECT_EQ(opened->bytes, "good|torn");
  EXPECT_EQ(Contents(Path()), "good|torn") << "as it was until KeepFirst";
  EXPECT_FALSE(opened->journal->empty());
  EXPECT_TRUE(IsOk(opened->journal->KeepFirst(5)));
  EXPECT_EQ(Contents(Path()), "good|");
  EXPECT_EQ(opened->journal->size(), 5U);
  EXPECT_TRUE(IsOk(opened->journal->Append("new|")));
  EXPECT_EQ(Contents(Path()), "good|new|");
  opened->journal.reset();
  opened = FileJournal::Open(Path());
  ASSERT_TRUE(IsOk(opened.status()));
  EXPECT_TRUE(IsOk(opened->journal->Append("!")));
  EXPECT_EQ(Contents(Path()), "good|new|!") << "without KeepFirst it goes on at the end";
}

TEST_F(FileJournalTest, KeepFirstRefusesMoreThanThereIs) {
  WriteFile(Path(), "1234");
  auto opened = FileJournal::Open(Path());
  ASSERT_TRUE(IsOk(opened.status()));
  EXPECT_TRUE(Refused(opened->journal->KeepFirst(5), absl::StatusCode::kInvalidArgument,
                      {Path(), "bytes is 5", "the file has 4"}));
  EXPECT_TRUE(IsOk(opened->journal->KeepFirst(4)));
  EXPECT_EQ(Contents(Path()), "1234");
}

TEST_F(FileJournalTest, PathsThatAreNoFileAreRefused) {
  EXPECT_TRUE(Refused(FileJournal::Open(Path()), absl::StatusCode::kNotFound,
                      {Path(), "cannot open it", "errno 2"}));
  EXPECT_TRUE(Refused(ReadFile(Path()), absl::StatusCode::kNotFound, {Path(), "errno 2"}));
  EXPECT_TRUE(Refused(FileJournal::Create(Path("missing/journal")), absl::StatusCode::kNotFound,
                      {Path("")}));
  const std::string folder = Path("");
  EXPECT_TRUE(Refused(FileJournal::Create(folder), absl::StatusCode::kInvalidArgument, {folder}));
  EXPECT_TRUE(Refused(ReadFile(folder), absl::StatusCode::kInvalidArgument, {"no regular file"}));
  ASSERT_EQ(mkfifo(Path("pipe").c_str(), 0600), 0);
  EXPECT_TRUE(Refused(FileJournal::Create(Path("pipe")), absl::StatusCode::kInvalidArgument,
                      {"no regular file"}));
  EXPECT_TRUE(Refused(ReadFile(Path("pipe")), absl::StatusCode::kInvalidArgument));
  EXPECT_TRUE(Refused(FileJournal::Create("/dev/full"), absl::StatusCode::kInvalidArgument,
                      {"/dev/full", "no regular file"}));
}

TEST_F(FileJournalTest, APathWithoutFolderIsInTheCurrentOne) {
  const std::filesystem::path before = std::filesystem::current_path();
  std::filesystem::current_path(Path(""));
  EXPECT_TRUE(IsOk(FileJournal::Create("here", Durability::kMachine).status()));
  std::filesystem::current_path(before);
  EXPECT_EQ(Contents(Path("here")), "");
}

TEST_F(FileJournalTest, ASecondWriterIsRefusedWhileTheFirstLives) {
  auto first = FileJournal::Create(Path());
  ASSERT_TRUE(IsOk(first.status()));
  constexpr auto kCode = absl::StatusCode::kFailedPrecondition;
  EXPECT_TRUE(Refused(FileJournal::Open(Path()), kCode, {Path(), "another writer"}));
  EXPECT_TRUE(Refused(FileJournal::Create(Path()), kCode, {Path(), "another writer"}));
  EXPECT_TRUE(IsOk((*first)->Append("abc")));
  EXPECT_TRUE(Refused(FileJournal::Open(Path()), kCode));
  EXPECT_EQ(Contents(Path()), "abc") << "the refused ones must not cut it";
  first->reset();
  EXPECT_TRUE(IsOk(FileJournal::Open(Path()).status()));
}

TEST_F(FileJournalTest, AnotherProcessIsRefusedToo) {
  auto first = FileJournal::Create(Path());
  ASSERT_TRUE(IsOk(first.status()));
  const pid_t child = fork();
  if (child == 0) {
    const auto second = FileJournal::Open(Path());
    _exit(second.status().code() == absl::StatusCode::kFailedPrecondition ? 0 : 1);
  }
  int status = -1;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
}

// 100 bytes fit, the record has 60 and then 70: the second is written in part.
TEST_F(FileJournalTest, ARecordThatDoesNotFitIsTakenBack) {
  for (const Durability durability : {Durability::kProcess, Durability::kMachine}) {
    const std::string path = Path(durability == Durability::kProcess ? "process" : "machine");
    auto journal = FileJournal::Create(path, durability);
    ASSERT_TRUE(IsOk(journal.status()));
    const std::string first(60, 'a');
    EXPECT_TRUE(IsOk((*journal)->Append(first)));
    {
      const FileSizeLimit limit(100);
      EXPECT_TRUE(Refused((*journal)->Append(std::string(70, 'b')),
                          absl::StatusCode::kResourceExhausted,
                          {path, "cannot write 70 bytes at byte 60 (40 written)", "errno 27"}));
      EXPECT_EQ((*journal)->size(), 60U);
      EXPECT_EQ(Contents(path), first);
      EXPECT_TRUE(IsOk((*journal)->Append(std::string(40, 'c')))) << "a smaller one still fits";
      EXPECT_TRUE(Refused((*journal)->Append("d"), absl::StatusCode::kResourceExhausted));
    }
    EXPECT_TRUE(IsOk((*journal)->Append(std::string(70, 'b'))));
    EXPECT_EQ(Contents(path), first + std::string(40, 'c') + std::string(70, 'b'));
  }
}

// A file that may not shrink: after a record that was written in part, nothing may be appended.
TEST_F(FileJournalTest, RefusesToGoOnBehindATornRecord) {
  const int memory = memfd_create("journal", MFD_CLOEXEC | MFD_ALLOW_SEALING);
  if (memory == -1) GTEST_SKIP() << "no memfd_create";
  const std::string path = "/proc/self/fd/" + std::to_string(memory);
  auto journal = FileJournal::Create(path);
  if (!journal.ok()) {
    close(memory);
    GTEST_SKIP() << journal.status();
  }
  EXPECT_TRUE(IsOk((*journal)->Append("abc")));
  ASSERT_EQ(fcntl(memory, F_ADD_SEALS, F_SEAL_SHRINK), 0);
  {
    const FileSizeLimit limit(5);
    EXPECT_TRUE(Refused((*journal)->Append("defghi"), absl::StatusCode::kResourceExhausted,
                        {"(2 written)", "; then journal", "cannot cut it back to 3 bytes"}));
  }
  EXPECT_TRUE(Refused((*journal)->Append("x"), absl::StatusCode::kUnavailable,
                      {path, "cannot cut it back to 3 bytes"}));
  EXPECT_EQ((*journal)->size(), 3U);
  close(memory);
}

// A signal without SA_RESTART while the disk is at work; mostly a check that nothing is torn.
TEST_F(FileJournalTest, SignalsDoNotTearRecords) {
  struct sigaction action {};
  struct sigaction before {};
  action.sa_handler = [](int) {};
  ASSERT_EQ(sigaction(SIGALRM, &action, &before), 0);
  const itimerval often{.it_interval = {0, 200}, .it_value = {0, 200}};
  ASSERT_EQ(setitimer(ITIMER_REAL, &often, nullptr), 0);
  auto journal = FileJournal::Create(Path(), Durability::kMachine);
  std::string expected;
  for (char c = 'a'; journal.ok() && c < 'a' + 20; ++c) {
    const std::string record(100'000, c);
    EXPECT_TRUE(IsOk((*journal)->Append(record)));
    expected += record;
  }
  const itimerval never{};
  setitimer(ITIMER_REAL, &never, nullptr);
  sigaction(SIGALRM, &before, nullptr);
  ASSERT_TRUE(IsOk(journal.status()));
  EXPECT_TRUE(Contents(Path()) == expected);
}

// The whole way: write, crash in the middle of a record, recover, go on.
TEST_F(FileJournalTest, GoesOnAfterACrash) {
  RecordWriter writer;
  {
    auto journal = FileJournal::Create(Path());
    ASSERT_TRUE(IsOk(journal.status()));
    for (const char* event : {"one", "two"}) {
      ASSERT_TRUE(IsOk((*journal)->Append(writer.Frame(RecordKind::kEvent, event))));
      writer.Accept();
    }
    const std::string torn = writer.Frame(RecordKind::kEvent, "three");
    ASSERT_TRUE(IsOk((*journal)->Append(torn.substr(0, torn.size() - 1))));
  }
  {
    auto opened = FileJournal::Open(Path());
    ASSERT_TRUE(IsOk(opened.status()));
    const auto recovered = Recover(opened->bytes);
    ASSERT_TRUE(IsOk(recovered.status()));
    EXPECT_EQ(recovered->records.size(), 2U);
    EXPECT_NE(recovered->problem, "");
    EXPECT_TRUE(IsOk(opened->journal->KeepFirst(recovered->valid_bytes)));
    RecordWriter next = recovered->Continue();
    ASSERT_TRUE(IsOk(opened->journal->Append(next.Frame(RecordKind::kEvent, "four"))));
  }
  const std::string bytes = Contents(Path());
  const auto recovered = Recover(bytes);
  ASSERT_TRUE(IsOk(recovered.status()));
  EXPECT_EQ(recovered->problem, "");
  ASSERT_EQ(recovered->records.size(), 3U);
  EXPECT_EQ(recovered->records[2].payload, "four");
}

}  // namespace
}  // namespace gpusched
