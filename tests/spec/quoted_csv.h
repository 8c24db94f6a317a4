// Reads the tables of facts that the catalogue is checked against: CSV with quoted fields.
#ifndef GPUSCHED_TESTS_SPEC_QUOTED_CSV_H_
#define GPUSCHED_TESTS_SPEC_QUOTED_CSV_H_

#include <cstddef>
#include <cstdint>
#include <fstream>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace gpusched {

using CsvRow = std::map<std::string, std::string>;  // by column

// The fields of a line; a quoted one may hold commas, and quotes that are doubled.
inline std::vector<std::string> CsvFields(std::string_view line) {
  std::vector<std::string> fields(1);
  bool quoted = false;
  for (std::size_t i = 0; i < line.size(); ++i) {
    if (line[i] == '"') {
      const bool doubled = quoted && i + 1 < line.size() && line[i + 1] == '"';
      if (doubled) fields.back() += line[++i];
      if (!doubled) quoted = !quoted;
    } else if (line[i] == ',' && !quoted) {
      fields.emplace_back();
    } else if (line[i] != '\r') {
      fields.back() += line[i];
    }
  }
  return fields;
}

// Empty if there is no such file. Short lines end in empty fields.
inline std::vector<CsvRow> ReadQuotedCsv(const std::string& path) {
  std::ifstream file(path);
  std::vector<CsvRow> rows;
  std::vector<std::string> header;
  for (std::string line; std::getline(file, line);) {
    std::vector<std::string> fields = CsvFields(line);
    if (header.empty()) {
      header = fields;
      continue;
    }
    fields.resize(header.size());
    CsvRow& row = rows.emplace_back();
    for (std::size_t i = 0; i < header.size(); ++i) row[header[i]] = fields[i];
  }
  return rows;
}

// A decimal number in thousandths, exactly: "1978.9" is 1978900.
inline std::int64_t Thousandths(std::string_view text) {
  std::int64_t number = 0;
  int decimals = -1;
  for (const char c : text) {
    if (c == '.') {
      decimals = 0;
    } else {
      number = number * 10 + (c - '0');
      if (decimals >= 0) ++decimals;
    }
  }
  for (int i = decimals < 0 ? 0 : decimals; i < 3; ++i) number *= 10;
  return number;
}

}  // namespace gpusched

#endif  // GPUSCHED_TESTS_SPEC_QUOTED_CSV_H_
