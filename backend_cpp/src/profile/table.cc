#include <algorithm>
#include <cmath>
#include <cstdio>
#include <map>
#include <tuple>

#include "profile/text.h"
#include "xir/profile.h"

namespace xir {
namespace {

constexpr size_t kMaxModules = 24;  // rows of the table by module, as long as its depth allows

// A line of the table: one operator or kernel, or what a delegate's call takes beyond its
// operators.
struct Row {
  const ProfileEvent* event = nullptr;  // of the first execution that had it
  double time = 0;                      // microseconds of all executions
  size_t calls = 0;

  bool is_overhead() const { return event->kind == ProfileEvent::Kind::kDelegate; }
};

std::string NameOf(const ProfileEvent& event) {
  std::string name = Printable(event.name);
  if (event.kind == ProfileEvent::Kind::kDelegate) return name + ": overhead";
  return event.microkernel.empty() ? name : name + " " + Printable(event.microkernel);
}

// In the order of execution. Loops run an instruction again: those calls share a row.
std::vector<Row> RowsOf(Span<const Profile> executions) {
  std::vector<Row> rows;
  std::map<std::tuple<size_t, size_t>, size_t> places;  // by instruction and operator of its call
  for (const Profile& execution : executions) {
    size_t call = 0;      // the row of the delegate's call
    size_t position = 0;  // of the operator within it
    for (const ProfileEvent& event : execution.events) {
      const bool is_operator = event.kind == ProfileEvent::Kind::kOperator;
      position = is_operator ? position + 1 : 0;
      const auto [place, is_new] = places.try_emplace({event.instruction, position}, rows.size());
      if (is_new) rows.push_back({&event});
      Row& row = rows[place->second];
      row.time += event.duration;
      ++row.calls;
      if (!is_operator) call = place->second;
      if (is_operator) rows[call].time -= event.duration;
    }
  }
  // Operators' times are rounded down, but a clock may go otherwise.
  for (Row& row : rows) row.time = std::max(row.time, 0.0);
  return rows;
}

std::string Format(const char* format, double value) {
  char text[48];
  std::snprintf(text, sizeof(text), format, value);
  return text;
}

std::string Bytes(uint64_t bytes) {
  if (bytes == 0) return "";
  const char* unit = " B";
  auto size = static_cast<double>(bytes);
  for (const char* larger : {" kB", " MB", " GB"}) {
    if (size < 1000) break;
    size /= 1000;
    unit = larger;
  }
  return Format(size < 10 && unit[1] != 'B' ? "%.1f" : "%.0f", size) + unit;
}

size_t Width(std::string_view text) {
  return static_cast<size_t>(std::count_if(
      text.begin(), text.end(), [](char c) { return (static_cast<uint8_t>(c) & 0xC0) != 0x80; }));
}

// The first or the last `count` characters.
std::string_view Part(std::string_view text, size_t count, bool last) {
  size_t skip = last ? Width(text) - count : count;
  size_t at = 0;
  for (; at < text.size(); ++at) {
    if ((static_cast<uint8_t>(text[at]) & 0xC0) != 0x80 && skip-- == 0) break;
  }
  return last ? text.substr(at) : text.substr(0, at);
}

struct Column {
  enum class Side { kRight, kHead, kTail };  // numbers; texts that keep their head or their tail

  std::string title;
  Side side;
  size_t enough = 0;  // width of a text that is cut only where cutting others does not do
  size_t width = 0;
};

using Cells = std::vector<std::string>;

// The widest column of texts that is wider than `least` says.
template <typename Least>
Column* WidestAbove(std::vector<Column>* columns, const Least& least) {
  Column* widest = nullptr;
  for (Column& column : *columns) {
    if (column.side == Column::Side::kRight || column.width <= least(column)) continue;
    if (widest == nullptr || column.width > widest->width) widest = &column;
  }
  return widest;
}

// Lines of a table no wider than `width`, if its numbers let it: long texts are cut.
std::string Aligned(std::vector<Column> columns, const std::vector<Cells>& lines, size_t width) {
  constexpr size_t kGap = 2;
  size_t total = 0;
  for (size_t i = 0; i < columns.size(); ++i) {
    columns[i].width = Width(columns[i].title);
    for (const Cells& cells : lines) {
      columns[i].width = std::max(columns[i].width, Width(cells[i]));
    }
    total += columns[i].width + (i == 0 ? 0 : kGap);
  }
  while (total > width) {
    Column* widest = WidestAbove(&columns, [](const Column& c) { return c.enough; });
    if (widest == nullptr) {
      widest = WidestAbove(&columns, [](const Column& c) { return Width(c.title); });
    }
    if (widest == nullptr) break;
    --widest->width;
    --total;
  }
  const auto line = [&](const Cells& cells) {
    std::string text;
    for (size_t i = 0; i < columns.size(); ++i) {
      const Column& column = columns[i];
      std::string cell = cells[i];
      if (Width(cell) > column.width) {
        const bool tail = column.side == Column::Side::kTail;
        const std::string_view part = Part(cell, column.width - 1, tail);
        cell = tail ? "…" + std::string(part) : std::string(part) + "…";
      }
      const std::string pad(column.width - Width(cell), ' ');
      text += std::string(i == 0 ? 0 : kGap, ' ');
      text += column.side == Column::Side::kRight ? pad + cell : cell + pad;
    }
    return text.substr(0, text.find_last_not_of(' ') + 1) + "\n";
  };
  Cells titles;
  for (const Column& column : columns) titles.push_back(column.title);
  std::string text = line(titles);
  for (const Cells& cells : lines) text += line(cells);
  return text;
}

// The path of a module down to `depth`.
std::string Shortened(const std::string& path, size_t depth) {
  size_t at = 0;
  for (size_t level = 0; level < depth; ++level) {
    at = path.find('.', at);
    if (at == std::string::npos) return path;
    ++at;
  }
  return path.substr(0, at - 1);
}

class TableWriter {
 public:
  TableWriter(Span<const Profile> executions, const ProfileTableOptions& options)
      : executions_(executions), options_(options), rows_(RowsOf(executions)) {
    for (const Profile& execution : executions) wall_ += execution.duration;
    for (const Row& row : rows_) sum_ += row.time;
  }

  std::string Write() const {
    return Summary() + "\n" + Lines() + WhyUnknown() + "\n" +
           Totals("operators",
                  [](const Row& row) {
                    return row.is_overhead() ? "(delegate overhead)" : NameOf(*row.event);
                  }) +
           "\n" + Modules();
  }

 private:
  double PerExecution(double value) const {
    return value / static_cast<double>(executions_.size());
  }
  std::string Time(double microseconds) const { return Format("%.1f", PerExecution(microseconds)); }
  std::string Share(double microseconds) const {
    return Format("%.1f %%", wall_ > 0 ? microseconds / wall_ * 100 : 0);
  }
  std::string Calls(size_t calls) const {
    const double each = PerExecution(static_cast<double>(calls));
    return Format(each == std::floor(each) ? "%.0f" : "%.1f", each);
  }

  std::string Summary() const {
    const std::string count = std::to_string(executions_.size());
    return Printable(executions_[0].method) + ": " + count +
           (executions_.size() == 1 ? " execution of " : " executions, on average ") +
           Format("%.3f", PerExecution(wall_) / 1000) +
           " ms by the wall clock; the lines add up to " +
           Format("%.3f", PerExecution(sum_) / 1000) + " ms, " + Share(sum_) + "\n";
  }

  std::string Lines() const {
    std::vector<const Row*> rows;
    for (const Row& row : rows_) rows.push_back(&row);
    if (options_.by_time) {
      std::stable_sort(rows.begin(), rows.end(),
                       [](const Row* a, const Row* b) { return a->time > b->time; });
    }
    std::vector<const std::vector<Origin>*> places;
    for (const Row* row : rows) places.push_back(&row->event->origins);
    const size_t directory = CommonDirectory(places);
    std::vector<Cells> lines;
    for (const Row* row : rows) {
      const ProfileEvent& event = *row->event;
      const std::string source = LinesOf(event.origins, directory);
      const bool told = row->is_overhead() || !source.empty();
      lines.push_back({Time(row->time), Share(row->time), Calls(row->calls),
                       Bytes(event.result_bytes), Bytes(event.constant_bytes), NameOf(event),
                       ModulesOf(event.origins), OpsOf(event.origins), told ? source : "unknown"});
    }
    using Side = Column::Side;
    return Aligned({{"time (us)", Side::kRight},
                    {"share", Side::kRight},
                    {"calls", Side::kRight},
                    {"result", Side::kRight},
                    {"weights", Side::kRight},
                    {"operator", Side::kHead, 30},
                    {"module", Side::kTail, 18},
                    {"op", Side::kHead, 8},
                    {"source", Side::kTail, 18}},
                   lines, options_.width);
  }

  // Why lines have no source; "" if each has one.
  std::string WhyUnknown() const {
    size_t told = 0;
    size_t unknown = 0;
    for (const Row& row : rows_) {
      if (!row.is_overhead()) ++(row.event->origins.empty() ? unknown : told);
    }
    if (unknown == 0) return "";
    return told > 0
               ? "unknown: XNNPACK fused or added operators, and no one node explains them\n"
               : "unknown: the file has no debug information: ExecuTorch writes none that says "
                 "what a node is of, and xir-aot --strip-debug none\n";
  }

  // Sums by what `key` says of a row, the largest first.
  template <typename Key>
  std::string Totals(const std::string& title, const Key& key) const {
    struct Total {
      double time = 0;
      size_t calls = 0;
    };
    std::map<std::string, Total> totals;
    for (const Row& row : rows_) {
      Total& total = totals[key(row)];
      total.time += row.time;
      total.calls += row.calls;
    }
    std::vector<std::pair<std::string, Total>> sorted(totals.begin(), totals.end());
    std::stable_sort(sorted.begin(), sorted.end(),
                     [](const auto& a, const auto& b) { return a.second.time > b.second.time; });
    std::vector<Cells> lines;
    for (const auto& [name, total] : sorted) {
      lines.push_back({Time(total.time), Share(total.time), Calls(total.calls), name});
    }
    using Side = Column::Side;
    return Aligned({{"time (us)", Side::kRight},
                    {"share", Side::kRight},
                    {"calls", Side::kRight},
                    {title, Side::kTail}},
                   lines, options_.width);
  }

  // By the module of the first place that a line comes from, as deep as the table stays short.
  std::string Modules() const {
    const auto at_depth = [](size_t depth) {
      return [depth](const Row& row) -> std::string {
        if (row.is_overhead()) return "(delegate overhead)";
        if (row.event->origins.empty()) return "(unknown)";
        const std::string module = Printable(row.event->origins[0].module);
        return module.empty() ? "(the model itself)" : Shortened(module, depth);
      };
    };
    const auto count = [&](size_t depth) {
      std::vector<std::string> names;
      for (const Row& row : rows_) names.push_back(at_depth(depth)(row));
      std::sort(names.begin(), names.end());
      return static_cast<size_t>(std::unique(names.begin(), names.end()) - names.begin());
    };
    constexpr size_t kDeepest = 16;
    size_t depth = 1;
    while (depth < kDeepest && count(depth + 1) <= kMaxModules) ++depth;
    return Totals("modules", at_depth(depth));
  }

  Span<const Profile> executions_;
  const ProfileTableOptions& options_;
  std::vector<Row> rows_;
  double wall_ = 0;
  double sum_ = 0;
};

}  // namespace

std::string ProfileTable(Span<const Profile> executions, const ProfileTableOptions& options) {
  if (executions.empty()) return "";
  return TableWriter(executions, options).Write();
}

}  // namespace xir
