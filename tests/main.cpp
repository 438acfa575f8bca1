// SPDX-License-Identifier: MIT
// The main() of every test program, and a listener that tells `./dev conformance` how each case ended. A run that
// matches no case fails: it would show nothing for ever.
#define DOCTEST_CONFIG_IMPLEMENT
#include <doctest/doctest.h>

#include <cstdio>
#include <cstdlib>
#include <string>

namespace {

bool some_matched = false;

// With WEFT_CASE_LOG=file, appends "start <case>" before and "pass <case>" or "fail <case>" after each case. A case
// that takes the process down leaves its start line alone, which reads as a failure.
class CaseLog : public doctest::IReporter {
 public:
  explicit CaseLog(const doctest::ContextOptions&) {
    const char* path = std::getenv("WEFT_CASE_LOG");
    if (path != nullptr && *path != '\0') path_ = path;
  }

  void test_case_start(const doctest::TestCaseData& data) override {
    name_ = data.m_name;
    write("start");
  }
  void test_case_end(const doctest::CurrentTestCaseStats& stats) override {
    write(stats.testCaseSuccess ? "pass" : "fail");
  }

  void report_query(const doctest::QueryData&) override {}
  void test_run_start() override {}
  void test_run_end(const doctest::TestRunStats& stats) override {
    some_matched = stats.numTestCasesPassingFilters != 0;
  }
  void test_case_reenter(const doctest::TestCaseData&) override {}
  void test_case_exception(const doctest::TestCaseException&) override {}
  void subcase_start(const doctest::SubcaseSignature&) override {}
  void subcase_end() override {}
  void log_assert(const doctest::AssertData&) override {}
  void log_message(const doctest::MessageData&) override {}
  void test_case_skipped(const doctest::TestCaseData&) override {}

 private:
  void write(const char* word) const {
    if (path_.empty()) return;
    std::FILE* file = std::fopen(path_.c_str(), "a");
    if (file == nullptr) return;
    std::fprintf(file, "%s\t%s\n", word, name_.c_str());
    std::fclose(file);
  }

  std::string path_;
  std::string name_;
};

REGISTER_LISTENER("case_log", 1, CaseLog);

}  // namespace

int main(int argc, char** argv) {
  doctest::Context context(argc, argv);
  const int status = context.run();
  if (context.shouldExit() || status != 0 || some_matched) return status;
  std::fprintf(stderr, "%s: no test case matches\n", argv[0]);
  return 1;
}
