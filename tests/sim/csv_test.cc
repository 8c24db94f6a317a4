#include "gpusched/sim/csv.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "status_matchers.h"

namespace gpusched {
namespace {

constexpr auto kInvalid = absl::StatusCode::kInvalidArgument;

TEST(CsvTable, SplitsLinesAndNamesPositions) {
  const auto table = CsvTable::Parse("name,cpu\na,1\nb,20\n", "f.csv");
  ASSERT_TRUE(table.ok()) << table.status().ToString();
  EXPECT_EQ(table->rows(), 2U);
  EXPECT_EQ(table->Find("cpu"), 1U);
  EXPECT_EQ(table->Find("mem"), std::nullopt);
  EXPECT_EQ(table->text(1, 0), "b");
  EXPECT_EQ(table->Quantity(1, 1).value_or(0), 20);
  EXPECT_EQ(table->Where(0), "f.csv:2");
  EXPECT_EQ(table->Where(1), "f.csv:3");
}

TEST(CsvTable, TakesOtherLineEndsMarksAndBlankLines) {
  for (const std::string text :
       {"name,cpu\r\na,1\r\nb,2\r\n", "name,cpu\na,1\nb,2", "\xEF\xBB\xBFname,cpu\na,1\nb,2\n",
        "\nname,cpu\n\na,1\n\r\nb,2\n\n"}) {
    const auto table = CsvTable::Parse(text, "f.csv");
    ASSERT_TRUE(table.ok()) << table.status().ToString();
    ASSERT_EQ(table->rows(), 2U);
    EXPECT_EQ(table->Find("name"), 0U);
    EXPECT_EQ(table->text(1, 1), "2");
  }
  const auto blank = CsvTable::Parse("name\n\n\na\n", "f.csv");
  ASSERT_TRUE(blank.ok());
  EXPECT_EQ(blank->Where(0), "f.csv:4") << "lines are counted as an editor does";
}

TEST(CsvTable, KeepsEmptyFields) {
  const auto table = CsvTable::Parse("a,b,c\n,,\n1,,3\n", "f.csv");
  ASSERT_TRUE(table.ok());
  EXPECT_EQ(table->text(0, 0), "");
  EXPECT_EQ(table->text(0, 2), "");
  EXPECT_EQ(table->text(1, 1), "");
}

TEST(CsvTable, RefusesFilesThatAreNone) {
  EXPECT_TRUE(Refused(CsvTable::Parse("", "f.csv"), kInvalid, {"f.csv", "empty", "header"}));
  EXPECT_TRUE(Refused(CsvTable::Parse("\n\r\n", "f.csv"), kInvalid, {"f.csv", "empty"}));
  EXPECT_TRUE(Refused(CsvTable::Parse("\xEF\xBB\xBF", "f.csv"), kInvalid, {"empty"}));
  EXPECT_TRUE(Refused(CsvTable::Parse("a,b\n", "f.csv"), kInvalid, {"f.csv", "only a header"}));
}

TEST(CsvTable, RefusesLinesOfAnotherLength) {
  EXPECT_TRUE(Refused(CsvTable::Parse("a,b,c\n1,2,3\n1,2\n", "f.csv"), kInvalid,
                      {"f.csv:3", "2 fields", "the header has 3", "cut off"}));
  EXPECT_TRUE(Refused(CsvTable::Parse("a,b\n1,2,3\n", "f.csv"), kInvalid,
                      {"f.csv:2", "3 fields", "the header has 2"}));
}

TEST(CsvTable, RefusesQuotesAndDoubledColumns) {
  EXPECT_TRUE(
      Refused(CsvTable::Parse("a,b\n\"1,5\",2\n", "f.csv"), kInvalid, {"f.csv:2", "quote"}));
  EXPECT_TRUE(
      Refused(CsvTable::Parse("a,b,a\n1,2,3\n", "f.csv"), kInvalid, {"f.csv:1:3", "'a'", "twice"}));
}

TEST(CsvTable, AMissingColumnListsThoseThatAreThere) {
  const auto table = CsvTable::Parse("a,b\n1,2\n", "f.csv");
  ASSERT_TRUE(table.ok());
  EXPECT_EQ(table->Require("b").value_or(9), 1U);
  EXPECT_TRUE(Refused(table->Require("c"), kInvalid, {"f.csv:1", "'c' is missing", "a, b"}));
}

TEST(CsvTable, QuantitiesAreWholeAndUpToTheLimit) {
  const auto table = CsvTable::Parse(
      "x,n\n1,1099511627776\n2,1099511627777\n3,1.0\n4,x\n5,\n6,1e3\n7,0x10\n8,1 2\n9,-1\n"
      "10,99999999999999999999999\n",
      "f.csv");
  ASSERT_TRUE(table.ok());
  EXPECT_EQ(table->Quantity(0, 1).value_or(0), 1099511627776);
  EXPECT_TRUE(Refused(table->Quantity(1, 1), kInvalid,
                      {"f.csv:3:2: n is '1099511627777'; use a whole number, 0 to 1099511627776"}));
  EXPECT_TRUE(Refused(table->Quantity(2, 1), kInvalid, {"f.csv:4:2: n is '1.0'"}));
  EXPECT_TRUE(Refused(table->Quantity(4, 1), kInvalid, {"f.csv:6:2: n is ''"}));
  for (std::size_t row = 1; row < table->rows(); ++row) {
    EXPECT_TRUE(Refused(table->Quantity(row, 1), kInvalid)) << row;
  }
}

TEST(CsvTable, BytesThatAreNotUtf8AreRefused) {
  EXPECT_TRUE(CsvTable::Parse("a\nn\xC3\xA4me\n\xF0\x9F\x98\x80\n", "f.csv").ok());
  for (const std::string bad : {"\xFF", "x\xC3", "\xC3x", "\x80", "\xC0\xAF"}) {
    EXPECT_TRUE(
        Refused(CsvTable::Parse("a\n" + bad + "\n", "f.csv"), kInvalid, {"f.csv:2", "not UTF-8"}));
  }
}

TEST(CsvTable, ReadsFilesAndSaysWhichIsMissing) {
  EXPECT_TRUE(Refused(CsvTable::Read("/no/such/file.csv"), absl::StatusCode::kNotFound,
                      {"'/no/such/file.csv'", "check the path"}));
  const std::filesystem::path path =
      std::filesystem::path(testing::TempDir()) / "gpusched_csv_test.csv";
  std::ofstream(path) << "a,b\n1,2\n1\n";
  EXPECT_TRUE(Refused(CsvTable::Read(path.string()), kInvalid, {path.string() + ":3"}));
  std::ofstream(path) << "a,b\n1,2\n";
  const auto table = CsvTable::Read(path.string());
  ASSERT_TRUE(table.ok()) << table.status().ToString();
  EXPECT_EQ(table->Quantity(0, 1).value_or(0), 2);
  std::ofstream(path).flush();
  EXPECT_TRUE(Refused(CsvTable::Read(path.string()), kInvalid, {path.string(), "empty"}));
  std::filesystem::remove(path);
  EXPECT_TRUE(Refused(CsvTable::Read(testing::TempDir()), absl::StatusCode::kNotFound,
                      {testing::TempDir(), "cannot be read"}));
}

}  // namespace
}  // namespace gpusched
