// Files of packed weights: what they save, and that nothing in or around them does harm.

#include <dirent.h>
#include <fcntl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iterator>
#include <optional>
#include <thread>

#include "core/digest.h"
#include "golden.h"
#include "program/decode.h"
#include "testing.h"
#include "verify/verify_graph.h"
#include "xir/library.h"

namespace xir::testing {
namespace {

// A directory that goes with its content.
class Folder {
 public:
  Folder() {
    path_ = TemporaryPattern("xir_packed");
    EXPECT(mkdtemp(path_.data()) != nullptr);
  }
  ~Folder() {
    if (std::system(("rm -r " + path_).c_str()) != 0) Report(__FILE__, __LINE__, "cannot tidy up");
  }

  std::string operator/(const std::string& name) const { return path_ + "/" + name; }
  size_t num_files() const {
    DIR* directory = opendir(path_.c_str());
    size_t count = 0;
    while (const dirent* entry = readdir(directory)) count += entry->d_name[0] != '.' ? 1 : 0;
    closedir(directory);
    return count;
  }

 private:
  std::string path_;
};

Blob ReadAll(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return Blob((std::istreambuf_iterator<char>(file)), {});
}

void WriteAll(const std::string& path, const Blob& bytes) {
  std::ofstream file(path, std::ios::binary | std::ios::trunc);
  file.write(reinterpret_cast<const char*>(bytes.data()),
             static_cast<std::streamsize>(bytes.size()));
}

struct Outcome {
  PackedFileState file;
  Blob output;
};

// A file up to its seal, which is another each time. Offsets as packed_file.cc has them.
Blob Content(const Blob& file) {
  uint64_t offset, size;
  std::memcpy(&offset, file.data() + 32, sizeof(offset));
  std::memcpy(&size, file.data() + 40, sizeof(size));
  return Blob(file.begin(), file.begin() + static_cast<std::ptrdiff_t>(offset + size));
}

// Sets the time of a file's last modification; without one, to two minutes ago.
timespec SetModified(const std::string& path, std::optional<timespec> to = std::nullopt) {
  timespec now{};
  clock_gettime(CLOCK_REALTIME, &now);
  now.tv_sec -= 120;
  const timespec times[] = {{0, UTIME_OMIT}, to.value_or(now)};
  EXPECT(utimensat(AT_FDCWD, path.c_str(), times, 0) == 0);
  return times[1];
}

timespec Modified(const std::string& path) {
  struct stat info {};
  EXPECT(stat(path.c_str(), &info) == 0);
  return info.st_mtim;
}

// Loads a golden program with a file of packed weights and runs it.
Result<Outcome> LoadAndRun(const Source& file, const runner::Array& input,
                           const std::string& packed, uint64_t limit = 0) {
  LoadOptions options;
  options.packed_weights_limit = limit;
  options.threads = 1;
  options.packed_weights = packed;
  options.xnnpack_paths = PythonLibraryPaths();
  XIR_ASSIGN_OR_RETURN(const auto program, Program::Load(file, options));
  XIR_ASSIGN_OR_RETURN(const auto method, program->LoadMethod("forward"));
  XIR_RETURN_IF_ERROR(
      method->SetInput(0, const_cast<uint8_t*>(input.data.data()), input.data.size(), input.shape));
  XIR_RETURN_IF_ERROR(method->Execute());
  const Tensor& output = *method->output(0).get<Tensor>();
  return Outcome{program->packed_file(),
                 Blob(output.as<uint8_t>(), output.as<uint8_t>() + output.nbytes())};
}

Result<Outcome> LoadAndRun(const Blob& file, const runner::Array& input, const std::string& packed,
                           uint64_t limit = 0) {
  return LoadAndRun(Source::Copied(file), input, packed, limit);
}

Result<Outcome> LoadAndRun(const std::string& golden, const std::string& packed,
                           uint64_t limit = 0) {
  return LoadAndRun(ReadGolden(golden + ".pte"), ReadGoldenArray(golden + ".input_0.npy"), packed,
                    limit);
}

// Loads with whatever lies at `packed`; the result has to be the usual one.
void ExpectHarmless(const std::string& packed, const Blob& expected, const char* remark) {
  auto outcome = LoadAndRun("stock_small", packed);
  if (!outcome.ok()) return Report(__FILE__, __LINE__, std::move(outcome).status().message());
  EXPECT(outcome.value().output == expected);
  EXPECT(!outcome.value().file.read);
  if (outcome.value().file.remark.find(remark) == std::string::npos) {
    Report(__FILE__, __LINE__, "the remark is '" + outcome.value().file.remark + "'");
  }
}

template <typename T>
T* At(Blob* file, size_t offset) {
  return reinterpret_cast<T*>(file->data() + offset);
}

// The program with a bit of one constant changed. What the constant is named by, the SHA-256 of its
// bytes, stays as it is.
Blob WithOtherConstant(Blob file) {
  WorkBudget budget(file.size());
  const auto view = DecodeProgram(Bytes(file), {}, {UINT64_MAX}, &budget);
  EXPECT(view.ok());
  const auto graph =
      VerifyGraph(view.value().methods[0].delegates[0].bytes, view.value(), {UINT64_MAX}, &budget);
  EXPECT(graph.ok());
  const Bytes constant = graph.value().constants[1];
  file[static_cast<size_t>(constant.data() - file.data()) + 2] ^= 0x40;
  return file;
}

// Makes the digests of a changed file right again, as somebody would who means harm. Offsets as
// packed_file.cc has them.
void Sign(Blob* file) {
  const uint64_t num_graphs = *At<uint64_t>(file, 16), num_weights = *At<uint64_t>(file, 24);
  const uint8_t* packed = file->data() + *At<uint64_t>(file, 32);
  const size_t rows = 64, weights = rows + num_graphs * 16;
  uint64_t digest = 0;
  for (size_t i = 0; i < num_weights; ++i) {
    const uint64_t offset = *At<uint64_t>(file, weights + i * 32 + 16);
    const uint64_t size = *At<uint64_t>(file, weights + i * 32 + 24);
    const uint64_t all = *At<uint64_t>(file, 40);
    if (offset > all || size > all - offset) continue;
    digest = Digest(Bytes(packed + offset, size), digest);
  }
  *At<uint64_t>(file, 48) = digest;
  const uint64_t head = Digest(Bytes(file->data(), 56), 0);
  *At<uint64_t>(file, 56) =
      Digest(Bytes(file->data() + rows, num_graphs * 16 + num_weights * 32), head);
}

}  // namespace

XIR_TEST(digests_are_xxh64) {
  // Known digests of text (github.com/Cyan4973/xxHash).
  const auto of = [](std::string_view text) {
    return Digest(Bytes(reinterpret_cast<const uint8_t*>(text.data()), text.size()), 0);
  };
  EXPECT(of("") == 0xEF46DB3751D8E999);
  EXPECT(of("a") == 0xD24EC4F1A98C6E5B);
  EXPECT(of("abc") == 0x44BC2CF5AD770999);
  EXPECT(of("abcdefghijklmnopqrstuvwxyz") == 0xCFE1F278FA89835C);
  EXPECT(of("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789") ==
         0xAAA46907D3047814);
}

XIR_TEST(packed_weights_are_kept_and_read) {
  for (const std::string golden :
       {"stock_small", "stock_many", "stock_q8", "stock_qd8", "stock_qb4"}) {
    const Folder folder;
    const auto without = LoadAndRun(golden, "");
    const auto first = LoadAndRun(golden, folder / "weights");
    const auto second = LoadAndRun(golden, folder / "weights");
    EXPECT(without.ok() && first.ok() && second.ok());
    EXPECT(!first.value().file.read && first.value().file.written);
    EXPECT(second.value().file.read && !second.value().file.written);
    EXPECT(first.value().file.remark.empty() && second.value().file.remark.empty());
    EXPECT(first.value().output == without.value().output);
    EXPECT(second.value().output == without.value().output);
    EXPECT(folder.num_files() == 1);
  }
}

XIR_TEST(packed_weights_that_were_not_used_for_longest_go) {
  const Folder folder;
  const std::string path = folder / "weights";
  const auto size_of = [&](const std::string& golden) {
    const std::string own = folder / golden;
    EXPECT(LoadAndRun(golden, own).ok());
    const Blob file = ReadAll(own);
    return *At<uint64_t>(const_cast<Blob*>(&file), 40);
  };
  const uint64_t sizes[] = {size_of("stock_small"), size_of("stock_q8"), size_of("stock_qd8")};
  // Two of the three fit.
  const uint64_t limit =
      sizes[0] + sizes[1] + sizes[2] - *std::min_element(std::begin(sizes), std::end(sizes));
  const auto was_kept = [&](const std::string& golden) {
    const auto outcome = LoadAndRun(golden, path, limit);
    EXPECT(outcome.ok() && outcome.value().file.remark.empty());
    const Blob file = ReadAll(path);
    EXPECT(*At<uint64_t>(const_cast<Blob*>(&file), 40) <= limit);
    return outcome.value().file.read;
  };
  EXPECT(!was_kept("stock_small"));
  EXPECT(!was_kept("stock_q8"));
  EXPECT(was_kept("stock_small"));  // which was only read is the latest then
  EXPECT(!was_kept("stock_qd8"));
  EXPECT(was_kept("stock_small"));
  EXPECT(!was_kept("stock_q8"));
  // What a program needs stays, however little is allowed.
  EXPECT(LoadAndRun("stock_qd8", path, 1).ok());
  EXPECT(LoadAndRun("stock_qd8", path, 1).value().file.read);
  EXPECT(!was_kept("stock_small"));
}

// As on a file system that is full, or by somebody who empties files instead of removing them.
XIR_TEST(mapped_files_that_become_shorter_are_errors) {
  const Folder folder;
  const std::string path = folder / "weights", file = folder / "program";
  EXPECT(LoadAndRun("stock_small", path).ok());
  WriteAll(file, ReadGolden("stock_small.pte"));
  const runner::Array input = ReadGoldenArray("stock_small.input_0.npy");
  LoadOptions options;
  options.threads = 1;
  options.packed_weights = path;
  options.xnnpack_paths = PythonLibraryPaths();
  for (const std::string& shortened : {path, file}) {
    const auto program = Program::Open(file, options);
    EXPECT(program.ok());
    auto method = program.value()->LoadMethod("forward");
    EXPECT(method.ok());
    const auto run = [&] {
      EXPECT_OK(method.value()->SetInput(0, const_cast<uint8_t*>(input.data.data()),
                                         input.data.size(), input.shape));
      return method.value()->Execute();
    };
    EXPECT_OK(run());
    EXPECT(truncate(shortened.c_str(), 100) == 0);
    EXPECT_ERROR(run(), "a file that is mapped has become shorter, 100 bytes of");
    if (shortened == file) {
      EXPECT_ERROR(program.value()->LoadMethod("forward"), "has become shorter");
    }
  }
}

XIR_TEST(packed_weights_of_other_weights_are_not_used) {
  const Folder folder;
  EXPECT(LoadAndRun("stock_q8", folder / "weights").ok());
  auto other = LoadAndRun("stock_small", folder / "weights");
  EXPECT(other.ok() && !other.value().file.read && other.value().file.written);
  const Blob renamed = WithOtherConstant(ReadGolden("stock_small.pte"));
  const runner::Array small_input = ReadGoldenArray("stock_small.input_0.npy");
  const auto fresh = LoadAndRun(renamed, small_input, "");
  auto kept = LoadAndRun(renamed, small_input, folder / "weights");
  EXPECT(fresh.ok() && kept.ok() && kept.value().file.written);
  EXPECT(kept.value().output == fresh.value().output);
  EXPECT(LoadAndRun("stock_q8", folder / "weights").ok());
  // One bit of a scale, which is in the graph's flatbuffer and in the packed weights.
  const Blob changed = EditGraph(ReadGolden("stock_q8.pte"), [](graph::XNNGraphT* g) {
    for (const auto& value : g->xvalues) {
      auto* quantized = value->xvalue_union.AsXNNQuantizedTensorValue();
      if (quantized == nullptr) continue;
      if (auto* params = quantized->quant_params.AsPerTensorQuant()) params->scale *= 2;
    }
  });
  const runner::Array input = ReadGoldenArray("stock_q8.input_0.npy");
  const auto expected = LoadAndRun(changed, input, "");
  auto outcome = LoadAndRun(changed, input, folder / "weights");
  EXPECT(expected.ok() && outcome.ok() && !outcome.value().file.read);
  EXPECT(outcome.value().output == expected.value().output);
}

XIR_TEST(damaged_packed_weights_are_packed_again) {
  const Folder folder;
  const std::string path = folder / "weights";
  const Blob expected = LoadAndRun("stock_small", path).value().output;
  const Blob whole = ReadAll(path);
  EXPECT(whole.size() > 4096);
  for (const size_t size : {size_t{8}, size_t{63}, size_t{64}, size_t{200}, size_t{4096},
                            whole.size() / 2, Content(whole).size() - 1}) {
    WriteAll(path, Blob(whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(size)));
    ExpectHarmless(path, expected, "");
    EXPECT(Content(ReadAll(path)) == Content(whole));
  }
  for (size_t at = 0; at < whole.size(); at += at < 256 ? 1 : 509) {
    Blob damaged = whole;
    damaged[at] ^= 0x10;
    WriteAll(path, damaged);
    auto outcome = LoadAndRun("stock_small", path);
    EXPECT(outcome.ok() && outcome.value().output == expected);
  }
}

XIR_TEST(deceitful_packed_weights_do_not_crash) {
  const Folder folder;
  const std::string path = folder / "weights";
  const Blob expected = LoadAndRun("stock_small", path).value().output;
  const Blob whole = ReadAll(path);
  const size_t weights = 64 + whole[16] * 16;
  const auto attempt = [&](const std::function<void(Blob*)>& change) {
    Blob file = whole;
    change(&file);
    Sign(&file);
    WriteAll(path, file);
    // Numbers may be anything; what it reads has to be readable.
    EXPECT_OK(LoadAndRun("stock_small", path));
  };
  const uint64_t end = *At<uint64_t>(const_cast<Blob*>(&whole), 40);
  for (uint64_t i = 0; i < *At<uint64_t>(const_cast<Blob*>(&whole), 24); ++i) {
    const size_t row = weights + i * 32;
    attempt([&](Blob* file) { *At<uint64_t>(file, row + 24) = 0; });
    attempt([&](Blob* file) {
      // From the end of the file on.
      *At<uint64_t>(file, row + 16) = end / 128 * 128;
      *At<uint64_t>(file, row + 24) = 0;
    });
    attempt([&](Blob* file) { *At<uint64_t>(file, row + 16) = 1; });
    attempt([&](Blob* file) { *At<uint64_t>(file, row + 24) = UINT64_MAX; });
    attempt([&](Blob* file) { *At<uint32_t>(file, row) += 1; });
    attempt([&](Blob* file) { *At<uint32_t>(file, row + 8) += 1; });
  }
  attempt([](Blob* file) { *At<uint64_t>(file, 16) = 0; });
  attempt([](Blob* file) { *At<uint64_t>(file, 24) = 0; });
  attempt([](Blob* file) { *At<uint64_t>(file, 64 + 8) += 1; });
  attempt([](Blob* file) { *At<uint64_t>(file, 64 + 8) -= 1; });
  // Weights that XNNPACK does not ask for are dropped, and packed.
  WriteAll(path, whole);
  auto last = LoadAndRun("stock_small", path);
  EXPECT(last.ok() && last.value().output == expected);
}

XIR_TEST(other_files_are_left_alone) {
  const Folder folder;
  const std::string path = folder / "notes";
  const Blob expected = LoadAndRun("stock_small", "").value().output;
  const std::string text = "not packed weights";
  for (const Blob& content : {Blob(text.begin(), text.end()), ReadGolden("stock_small.pte")}) {
    WriteAll(path, content);
    ExpectHarmless(path, expected, "left as it is");
    EXPECT(ReadAll(path) == content);
  }
  ExpectHarmless(folder / "no/such/folder", expected, "cannot be written");
  mkdir((folder / "folder").c_str(), 0777);
  ExpectHarmless(folder / "folder", expected, "left as it is");
  // Nobody writes to the pipe, and nobody waits for that.
  mkfifo((folder / "pipe").c_str(), 0666);
  ExpectHarmless(folder / "pipe", expected, "left as it is");
  EXPECT_ERROR(Program::Load(Source::Path(folder / "pipe"), LoadOptions()),
               "is not a regular file");
}

XIR_TEST(full_disks_leave_nothing) {
  const Folder folder;
  const std::string path = folder / "weights";
  const Blob expected = LoadAndRun("stock_small", path).value().output;
  const Blob whole = ReadAll(path);
  unlink(path.c_str());
  rlimit before;
  getrlimit(RLIMIT_FSIZE, &before);
  for (const size_t room : {size_t{0}, size_t{100}, size_t{4096}, Content(whole).size() - 1}) {
    rlimit limit = before;
    limit.rlim_cur = room;
    setrlimit(RLIMIT_FSIZE, &limit);
    auto outcome = LoadAndRun("stock_small", path);
    setrlimit(RLIMIT_FSIZE, &before);
    EXPECT(outcome.ok() && outcome.value().output == expected);
    EXPECT(!outcome.value().file.written);
    EXPECT(outcome.value().file.remark.find("cannot be written") != std::string::npos);
    EXPECT(folder.num_files() == 0);
  }
}

XIR_TEST(interrupted_writes_leave_whole_files) {
  const Folder folder;
  const std::string path = folder / "weights";
  const Blob expected = LoadAndRun("stock_small", path).value().output;
  const Blob whole = ReadAll(path);
  for (int round = 0; round < 12; ++round) {
    unlink(path.c_str());
    const pid_t child = fork();
    if (child == 0) {
      while (true) {
        LoadAndRun("stock_small", path).ok();
        unlink(path.c_str());
      }
    }
    usleep(static_cast<useconds_t>(20'000 + round * 3'700));
    kill(child, SIGKILL);
    waitpid(child, nullptr, 0);
    if (access(path.c_str(), F_OK) == 0) EXPECT(Content(ReadAll(path)) == Content(whole));
    auto outcome = LoadAndRun("stock_small", path);
    EXPECT(outcome.ok() && outcome.value().output == expected);
    EXPECT(Content(ReadAll(path)) == Content(whole));
  }
}

// What is read without a look at a digest shows in that damage is not found, which is how these
// tests tell: they change a byte and set the file's time back to what it was.
XIR_TEST(sealed_weights_are_not_digested_again) {
  const Folder folder;
  const std::string path = folder / "weights";
  const Blob expected = LoadAndRun("stock_small", path).value().output;
  const timespec sealed = Modified(path);
  Blob damaged = ReadAll(path);
  for (size_t i = 0; i < 64; ++i) damaged[4096 + i] ^= 0x40;
  WriteAll(path, damaged);
  SetModified(path, sealed);
  auto outcome = LoadAndRun("stock_small", path);
  EXPECT(outcome.ok() && outcome.value().file.read);
  EXPECT(outcome.value().output != expected);
  // Any other time, and the damage is found.
  SetModified(path);
  ExpectHarmless(path, expected, "");
}

XIR_TEST(weights_are_sealed_once_they_have_been_checked) {
  const Folder folder;
  const std::string path = folder / "weights";
  const Blob expected = LoadAndRun("stock_small", path).value().output;
  const timespec changed = SetModified(path);  // as a copy's time is another
  auto outcome = LoadAndRun("stock_small", path);
  EXPECT(outcome.ok() && outcome.value().file.read && outcome.value().output == expected);
  const timespec sealed = Modified(path);
  EXPECT(sealed.tv_sec > changed.tv_sec);
  // It holds now: the next one leaves the time as it is.
  outcome = LoadAndRun("stock_small", path);
  EXPECT(outcome.ok() && outcome.value().file.read);
  const timespec still = Modified(path);
  EXPECT(still.tv_sec == sealed.tv_sec && still.tv_nsec == sealed.tv_nsec);
  // One that cannot be written is read all the same.
  SetModified(path);
  chmod(path.c_str(), 0444);
  outcome = LoadAndRun("stock_small", path);
  EXPECT(outcome.ok() && outcome.value().file.read && outcome.value().output == expected);
}

XIR_TEST(seals_know_the_program_by_its_file) {
  const Folder folder;
  const std::string path = folder / "weights", program = folder / "program";
  const Blob small = ReadGolden("stock_small.pte");
  const runner::Array input = ReadGoldenArray("stock_small.input_0.npy");
  const Blob other = WithOtherConstant(small);
  const Blob expected = LoadAndRun(small, input, "").value().output;
  const Blob expected_other = LoadAndRun(other, input, "").value().output;
  EXPECT(expected != expected_other);

  WriteAll(program, small);
  const auto load = [&] { return LoadAndRun(Source::Path(program), input, path); };
  EXPECT(load().ok());
  // Whatever is done to the program's file, and however soon: its content counts.
  for (int round = 0; round < 3; ++round) {
    WriteAll(program, other);
    auto outcome = load();
    EXPECT(outcome.ok() && outcome.value().output == expected_other);
    WriteAll(program, small);
    SetModified(program);
    outcome = load();
    EXPECT(outcome.ok() && outcome.value().output == expected);
  }
}

XIR_TEST(methods_share_what_the_file_has) {
  const Folder folder;
  const std::string path = folder / "weights";
  LoadOptions options;
  options.threads = 1;
  options.xnnpack_paths = PythonLibraryPaths();
  options.packed_weights = path;
  const Blob file = WithSecondMethod(ReadGolden("stock_q8.pte"));
  const runner::Array input = ReadGoldenArray("stock_q8.input_0.npy");
  const auto expected = LoadAndRun("stock_q8", "");
  const auto packed_size = [&] {
    const Blob content = ReadAll(path);
    return *At<uint64_t>(const_cast<Blob*>(&content), 40);
  };
  size_t packed = 0, kept = 0;
  for (int round = 0; round < 3; ++round) {
    const auto program = Program::FromBytes(file, options);
    EXPECT(program.ok());
    for (const char* name : {"forward", "second"}) {
      auto method = program.value()->LoadMethod(name);
      EXPECT(method.ok());
      EXPECT_OK(method.value()->SetInput(0, const_cast<uint8_t*>(input.data.data()),
                                         input.data.size(), input.shape));
      EXPECT_OK(method.value()->Execute());
      const Tensor& output = *method.value()->output(0).get<Tensor>();
      EXPECT(std::memcmp(output.data, expected.value().output.data(), output.nbytes()) == 0);
      if (kept == 0) {
        packed = program.value()->packed_bytes();
        kept = packed_size();
      }
    }
    EXPECT(program.value()->packed_bytes() == packed && packed_size() == kept);
    EXPECT(program.value()->packed_file().read == (round > 0));
    EXPECT(program.value()->packed_file().written == (round == 0));
  }
}

XIR_TEST(threads_write_one_file) {
  const Folder folder;
  const std::string path = folder / "weights";
  const Blob expected = LoadAndRun("stock_small", "").value().output;
  std::vector<std::thread> threads;
  std::vector<Blob> outputs(4);
  for (Blob& output : outputs) {
    threads.emplace_back([&] {
      for (int repeat = 0; repeat < 5; ++repeat) {
        auto outcome = LoadAndRun("stock_small", path);
        if (outcome.ok()) output = outcome.value().output;
        if (repeat % 2 == 1) unlink(path.c_str());
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (const Blob& output : outputs) EXPECT(output == expected);
  EXPECT(folder.num_files() <= 1);
}

}  // namespace xir::testing
