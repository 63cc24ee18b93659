// The runner's own parts: options and .npy files.

#include <sys/wait.h>
#include <unistd.h>

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "arguments.h"
#include "files.h"
#include "npy.h"
#include "testing.h"

namespace xir::testing {
namespace {

class TemporaryFile {
 public:
  TemporaryFile() : path_(TemporaryPattern("xir_npy")) { close(mkstemp(path_.data())); }
  ~TemporaryFile() { std::remove(path_.c_str()); }
  const std::string& path() const { return path_; }
  void Write(const std::string& text) { std::ofstream(path_, std::ios::binary) << text; }

 private:
  std::string path_;
};

std::string Npy(const std::string& header, const std::string& data) {
  std::string text = "\x93NUMPY";
  text += '\x01';
  text += '\0';
  text += static_cast<char>(header.size());
  text += '\0';
  return text + header + data;
}

class TemporaryDirectory {
 public:
  TemporaryDirectory() : parent_(TemporaryPattern("xir_runner")) {
    path_ = std::string(mkdtemp(parent_.data())) + "/made";
  }
  ~TemporaryDirectory() { std::filesystem::remove_all(parent_); }
  // Does not exist yet.
  const std::string& path() const { return path_; }

 private:
  std::string parent_;
  std::string path_;
};

struct Run {
  int exit_status = -1;
  std::string output;  // both streams
};

Run RunRunner(const std::string& arguments) {
  Run run;
  FILE* pipe = popen((std::string(XIR_TEST_RUNNER) + " " + arguments + " 2>&1").c_str(), "r");
  char buffer[256];
  while (std::fgets(buffer, sizeof(buffer), pipe) != nullptr) run.output += buffer;
  run.exit_status = WEXITSTATUS(pclose(pipe));
  return run;
}

bool Contains(const std::string& text, const char* part) {
  return text.find(part) != std::string::npos;
}

Result<runner::Arguments> Parse(std::vector<const char*> words) {
  words.insert(words.begin(), "xnn_executor_runner");
  return runner::ParseArguments(static_cast<int>(words.size()), words.data());
}

}  // namespace

XIR_TEST(npy_round_trip) {
  TemporaryFile file;
  Shape shape;
  shape.rank = 2;
  shape[0] = 1;
  shape[1] = 3;
  const float data[] = {1.5f, -2.0f, 3.0f};
  EXPECT_OK(runner::WriteNpy(file.path(), DType::kFloat, shape, data));
  const auto read = runner::ReadNpy(file.path());
  EXPECT(read.ok() && read.value().dtype == DType::kFloat && read.value().shape == shape);
  EXPECT(std::memcmp(read.value().data.data(), data, sizeof(data)) == 0);
  EXPECT_ERROR(runner::WriteNpy("/nowhere/x.npy", DType::kFloat, shape, data), "cannot write");
}

XIR_TEST(npy_refused) {
  TemporaryFile file;
  const auto refused = [&](const std::string& text, const char* why) {
    file.Write(text);
    EXPECT_ERROR(runner::ReadNpy(file.path()), why);
  };
  const std::string valid = "{'descr': '<f4', 'fortran_order': False, 'shape': (2,), }\n";
  file.Write(Npy(valid, "12345678"));
  EXPECT_OK(runner::ReadNpy(file.path()));
  refused("", "magic");
  refused("\x93NUMPY", "within its header");
  refused(Npy(valid, "1234567"), "does not agree with its shape");
  refused(Npy(valid, "123456789"), "does not agree with its shape");
  refused(Npy(valid, "").substr(0, 20), "within its header");
  refused(Npy("{'descr': '>f4', 'fortran_order': False, 'shape': (2,), }", "12345678"),
          "little-endian");
  refused(Npy("{'descr': 'O', 'fortran_order': False, 'shape': (2,), }", "12345678"),
          "little-endian");
  refused(Npy("{'descr': '<f4', 'fortran_order': True, 'shape': (1,2), }", "12345678"), "Fortran");
  refused(Npy("{'descr': '<f4', 'shape': (2,), }", "12345678"), "lacks an entry");
  refused(Npy("{'descr': '<f4', 'fortran_order': False, 'shape': (2, }", "12345678"), "shape");
  refused(Npy("{'descr': '<f4', 'fortran_order': False, 'shape': (-2,), }", "12345678"), "shape");
  refused(Npy("{'descr': '<f4', 'fortran_order': False, 'shape': (1099511627776,1099511627776,), }",
              ""),
          "does not agree with its shape");
  refused(Npy("{'descr': '<f4', 'fortran_order': False, 'shape': (99999999999999999999,), }", ""),
          "shape");
  EXPECT_ERROR(runner::ReadNpy("/nowhere/x.npy"), "cannot open");
}

XIR_TEST(runner_arguments) {
  const auto parsed = Parse({"--model_path", "m.pte", "--inputs=a.npy,b.npy", "--threads", "2"});
  EXPECT(parsed.ok() && parsed.value().model_path == "m.pte" && parsed.value().threads == 2);
  EXPECT((parsed.value().inputs == std::vector<std::string>{"a.npy", "b.npy"}));
  EXPECT(parsed.value().warmup == 10 && parsed.value().iterations == 50);
  const auto executorch = Parse({"--model_path", "m.pte", "--method_name", "f", "--cpu_threads",
                                 "-1", "--num_executions=3", "--output_file", "out"});
  EXPECT(executorch.ok() && executorch.value().method == "f" && executorch.value().threads == 0);
  EXPECT(executorch.value().iterations == 3 && executorch.value().output_file == "out");
  const std::vector<const char*> ours{"--packed-weights-limit", "--packed_weights_limit"};
  for (const char* name : ours) {
    const auto limited = Parse({"--model-path", "m.pte", name, "5", "--max_seconds", "0.5"});
    EXPECT(limited.ok() && limited.value().packed_weights_limit == 5);
    EXPECT(limited.value().max_seconds == 0.5);
  }
  EXPECT_ERROR(Parse({}), "--model_path is missing");
  EXPECT_ERROR(Parse({"--model_path"}), "takes a value");
  EXPECT_ERROR(Parse({"--model_pth", "m.pte"}), "unknown option '--model_pth'");
  EXPECT_ERROR(Parse({"--model_path", "m", "--threads", "0"}), "from 1, not '0'");
  EXPECT_ERROR(Parse({"--model_path", "m", "--cpu_threads", "0"}), "--cpu_threads takes a whole");
  EXPECT_ERROR(Parse({"--model_path", "m", "--iterations", "3x"}), "not '3x'");
  EXPECT_ERROR(Parse({"--model_path", "m", "--warmup", "-1"}), "not '-1'");
}

XIR_TEST(runner_runs_files) {
  const TemporaryDirectory directory;
  const std::string golden = std::string(XIR_TEST_DATA) + "/stock_many";
  const Run run = RunRunner("--model_path " + golden + ".pte --inputs " + golden +
                            ".input_0.npy --output-dir " + directory.path() +
                            " --threads 2 --warmup 2 --iterations 3");
  EXPECT(run.exit_status == 0);
  EXPECT(Contains(run.output, "1 delegate, 2 threads") &&
         Contains(run.output, "first iteration: "));
  EXPECT(Contains(run.output, "3 iterations: mean "));
  for (const char* output : {"output_0", "output_1"}) {
    const auto written = runner::ReadNpy(directory.path() + "/" + output + ".npy");
    const auto expected = runner::ReadNpy(golden + "." + output + ".npy");
    EXPECT(written.ok() && expected.ok() && written.value().shape == expected.value().shape);
    if (!written.ok() || !expected.ok()) continue;
    const auto* got = reinterpret_cast<const float*>(written.value().data.data());
    const auto* wanted = reinterpret_cast<const float*>(expected.value().data.data());
    for (int64_t i = 0; i < expected.value().shape.numel(); ++i)
      EXPECT(std::fabs(got[i] - wanted[i]) < 1e-4f);
  }
}

XIR_TEST(runner_takes_and_gives_raw_bytes) {
  const TemporaryDirectory directory;
  std::filesystem::create_directory(directory.path());
  const std::string golden = std::string(XIR_TEST_DATA) + "/stock_many";
  const auto input = runner::ReadNpy(golden + ".input_0.npy");
  EXPECT(input.ok());
  const std::string base = directory.path() + "/out", raw = directory.path() + "/in.bin";
  const auto& bytes = input.value().data;
  EXPECT(runner::WriteFile(raw, "", bytes.data(), bytes.size()).ok());
  const Run run = RunRunner("--model_path " + golden + ".pte --inputs " + raw + " --output_file " +
                            base + " --output-dir " + directory.path());
  EXPECT(run.exit_status == 0);
  const auto written = runner::ReadFile(base + "-1.bin");
  const auto expected = runner::ReadNpy(directory.path() + "/output_1.npy");
  EXPECT(written.ok() && expected.ok() && written.value() == expected.value().data);
  EXPECT(runner::WriteFile(raw, "", bytes.data(), bytes.size() - 1).ok());
  const Run refused = RunRunner("--model_path " + golden + ".pte --inputs " + raw);
  EXPECT(refused.exit_status == 1 && Contains(refused.output, "bytes and is no .npy file"));
}

XIR_TEST(runner_feeds_ones) {
  const std::string golden = std::string(XIR_TEST_DATA) + "/stock_small.pte";
  EXPECT(RunRunner("--model_path " + golden + " --iterations 1").exit_status == 0);
}

XIR_TEST(runner_profiles) {
  const TemporaryFile trace_file, etdump_file;
  const std::string golden = std::string(XIR_TEST_DATA) + "/stock_small.pte";
  const std::string &trace = trace_file.path(), &etdump = etdump_file.path();
  const Run run = RunRunner("--model_path " + golden + " --profile --iterations 2 --profile-order" +
                            " ran --profile-trace " + trace + " --etdump_path " + etdump);
  EXPECT(run.exit_status == 0);
  EXPECT(Contains(run.output, "forward: 2 executions, on average "));
  EXPECT(Contains(run.output, "  Convolution (NHWC, F32)"));
  EXPECT(Contains(run.output, "  delegate 0: overhead"));
  const auto json = runner::ReadFile(trace);
  EXPECT(json.ok() && json.value().front() == '{');
  const auto dump = runner::ReadFile(etdump);
  EXPECT(dump.ok() && std::memcmp(dump.value().data() + 8, "ED00", 4) == 0);
  const Run without = RunRunner("--model_path " + golden + " --iterations 2");
  EXPECT(!Contains(without.output, "overhead"));
}

XIR_TEST(runner_tells_what_is_wrong) {
  const std::string golden = std::string(XIR_TEST_DATA) + "/stock_small";
  const auto fails = [](const std::string& arguments, const char* text) {
    const Run run = RunRunner(arguments);
    EXPECT(run.exit_status == 1);
    EXPECT(Contains(run.output, "xnn_executor_runner: error: ") && Contains(run.output, text));
  };
  fails("--model_path /nowhere.pte", "cannot open '/nowhere.pte'");
  fails("--model_path " + golden + ".input_0.npy", "not a .pte program");
  fails("--model_path " + golden + ".pte --method backward", "it has: forward");
  fails("--model_path " + golden + ".pte --inputs a.npy,b.npy", "takes 1 inputs, and 2 files");
  fails("--model_path " + golden + ".pte --inputs " + golden + ".output_0.npy",
        "the shape is fixed");
  fails("--model_path " + golden + ".pte --iterations 1 --output-dir /proc/x",
        "cannot create '/proc/x'");
  fails("--model_path " + golden + ".pte --profile-order name", "is 'time' or 'ran', not 'name'");
  fails("--model_path " + golden + ".pte --iterations 1 --profile-trace /proc/x",
        "cannot write '/proc/x'");
}

}  // namespace xir::testing
