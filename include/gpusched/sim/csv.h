// CsvTable: a comma-separated file with a header, read strictly.
#ifndef GPUSCHED_SIM_CSV_H_
#define GPUSCHED_SIM_CSV_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "gpusched/export.h"

namespace gpusched {

// Fields are unquoted, as in the traces that we read; every line has as many as the header. Errors
// name file, line and column, both from 1: "pods.csv:12:3: num_gpu is 'x'; …".
class GPUSCHED_EXPORT CsvTable {
 public:
  // Splits `text`; `file` is its name in messages. Errors: kInvalidArgument for an empty file, a
  // header without data lines, a line with too few or too many fields, a quoted field, a column
  // name that stands twice.
  static absl::StatusOr<CsvTable> Parse(std::string_view text, std::string file);

  // Reads and splits a file. Errors: kNotFound if it cannot be read, else as Parse.
  static absl::StatusOr<CsvTable> Read(const std::string& path);

  std::size_t rows() const { return rows_.size(); }

  // The position of a column, or none.
  std::optional<std::size_t> Find(std::string_view column) const;
  // The position of a column that must be there. Errors: kInvalidArgument, listing those that are.
  absl::StatusOr<std::size_t> Require(std::string_view column) const;

  const std::string& text(std::size_t row, std::size_t column) const { return rows_[row][column]; }
  // The field as a quantity: a whole number from 0 to 2^40. Errors: kInvalidArgument.
  absl::StatusOr<std::int64_t> Quantity(std::size_t row, std::size_t column) const;

  // Where a row, or a field of it, stands: "pods.csv:12", "pods.csv:12:3".
  std::string Where(std::size_t row) const;
  std::string Where(std::size_t row, std::size_t column) const;

 private:
  std::string file_;
  std::vector<std::string> header_;
  std::vector<std::vector<std::string>> rows_;
  std::vector<std::size_t> lines_;  // by row
};

}  // namespace gpusched

#endif  // GPUSCHED_SIM_CSV_H_
