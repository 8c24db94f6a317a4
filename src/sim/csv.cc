#include "gpusched/sim/csv.h"

#include <fstream>
#include <sstream>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "gpusched/base/quantity.h"
#include "gpusched/spec/field_error.h"

namespace gpusched {
namespace {

// The position of the first byte that is no part of a well-formed UTF-8 character (RFC 3629,
// without the finer bounds of its first continuation byte); npos if there is none.
std::size_t FirstNotUtf8(std::string_view text) {
  for (std::size_t i = 0; i < text.size();) {
    const auto lead = static_cast<unsigned char>(text[i]);
    std::size_t length = 1;
    if (lead >= 0x80) {
      if (lead < 0xC2 || lead > 0xF4) return i;
      length = lead < 0xE0 ? 2 : lead < 0xF0 ? 3 : 4;
    }
    for (std::size_t k = 1; k < length; ++k) {
      if (i + k >= text.size()) return i;
      if ((static_cast<unsigned char>(text[i + k]) & 0xC0) != 0x80) return i;
    }
    i += length;
  }
  return std::string_view::npos;
}

}  // namespace

absl::StatusOr<CsvTable> CsvTable::Parse(std::string_view text, std::string file) {
  constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";
  if (text.substr(0, kByteOrderMark.size()) == kByteOrderMark) {
    text.remove_prefix(kByteOrderMark.size());
  }
  CsvTable table;
  table.file_ = std::move(file);
  std::size_t line_number = 0;
  while (!text.empty()) {
    const std::size_t end = text.find('\n');
    std::string_view line = text.substr(0, end);
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
    ++line_number;
    if (!line.empty() && line.back() == '\r') line.remove_suffix(1);
    if (line.empty()) continue;
    const std::string where = absl::StrCat(table.file_, ":", line_number);
    if (const std::size_t byte = FirstNotUtf8(line); byte != std::string_view::npos) {
      return InvalidField(where, absl::StrCat("byte ", byte + 1), "not UTF-8",
                          "save the file as UTF-8");
    }
    if (line.find('"') != std::string_view::npos) {
      return InvalidField(where, "the line", "quoted", "write fields without quotes and commas");
    }
    std::vector<std::string> fields =
        absl::StrSplit(absl::string_view(line.data(), line.size()), ',');
    if (table.header_.empty()) {
      table.header_ = std::move(fields);
      for (std::size_t i = 0; i < table.header_.size(); ++i) {
        if (table.Find(table.header_[i]) != i) {
          return InvalidField(absl::StrCat(where, ":", i + 1), "column", Quoted(table.header_[i]),
                              "it stands twice; keep one");
        }
      }
      continue;
    }
    if (fields.size() != table.header_.size()) {
      return InvalidField(
          where, "the line", absl::StrCat(fields.size(), " fields long"),
          absl::StrCat("the header has ", table.header_.size(), "; is the line cut off?"));
    }
    table.rows_.push_back(std::move(fields));
    table.lines_.push_back(line_number);
  }
  if (table.header_.empty()) {
    return InvalidField(table.file_, "the file", "empty", "expected a header line");
  }
  if (table.rows_.empty()) {
    return InvalidField(table.file_, "the file", "only a header", "expected lines of data");
  }
  return table;
}

absl::StatusOr<CsvTable> CsvTable::Read(const std::string& path) {
  std::ifstream stream(path, std::ios::binary);
  std::ostringstream text;
  // Looking first, because a folder opens but cannot be read.
  if (stream && stream.peek() != std::ifstream::traits_type::eof()) text << stream.rdbuf();
  if (!stream) {
    return FieldError(absl::StatusCode::kNotFound, "", "file", Quoted(path),
                      "it cannot be read; check the path");
  }
  return Parse(text.str(), path);
}

std::optional<std::size_t> CsvTable::Find(std::string_view column) const {
  for (std::size_t i = 0; i < header_.size(); ++i) {
    if (header_[i] == column) return i;
  }
  return std::nullopt;
}

absl::StatusOr<std::size_t> CsvTable::Require(std::string_view column) const {
  if (const auto position = Find(column)) return *position;
  return InvalidField(absl::StrCat(file_, ":1"), absl::StrCat("column ", Quoted(column)), "missing",
                      absl::StrCat("the header has ", absl::StrJoin(header_, ", ")));
}

absl::StatusOr<std::int64_t> CsvTable::Quantity(std::size_t row, std::size_t column) const {
  std::int64_t number = 0;
  if (absl::SimpleAtoi(text(row, column), &number) && number >= 0 && number <= kMaxQuantity) {
    return number;
  }
  return InvalidField(Where(row, column), header_[column], Quoted(text(row, column)),
                      absl::StrCat("use a whole number, 0 to ", kMaxQuantity));
}

std::string CsvTable::Where(std::size_t row) const { return absl::StrCat(file_, ":", lines_[row]); }

std::string CsvTable::Where(std::size_t row, std::size_t column) const {
  return absl::StrCat(Where(row), ":", column + 1);
}

}  // namespace gpusched
