// SPDX-License-Identifier: MIT
// A crawler: follows the links of a small site, each page once, at most four requests at a time. The site is served by
// the same program.
#include <algorithm>
#include <atomic>
#include <cstdio>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "weft/http_client.hpp"
#include "weft/http_server.hpp"
#include "weft/mutex.hpp"
#include "weft/nursery.hpp"
#include "weft/runtime.hpp"
#include "weft/semaphore.hpp"

using namespace std::chrono_literals;

namespace {

constexpr unsigned pages = 40;
constexpr std::uint32_t at_once = 4;

// Page n links to 2n and 2n + 1, to the first page, and to one that does not exist.
void serve_page(weft::HttpRequest& request, weft::HttpResponse& response) {
  const std::string path(request.path());
  const unsigned number = path.starts_with("/page/") ? static_cast<unsigned>(std::atoi(path.c_str() + 6)) : 0;
  if (number == 0 || number > pages) return response.status(404).send("");
  weft::sleep(1ms);  // so that some are under way together
  std::string text = "page " + std::to_string(number) + "\n";
  for (const unsigned next : {2 * number, 2 * number + 1, 1U}) text += "link /page/" + std::to_string(next) + "\n";
  response.send(text);
}

std::vector<std::string> links_of(std::string_view text) {
  std::vector<std::string> links;
  for (std::size_t at = text.find("link "); at != std::string_view::npos; at = text.find("link ", at + 1))
    links.emplace_back(text.substr(at + 5, text.find('\n', at) - at - 5));
  return links;
}

class Crawler {
 public:
  explicit Crawler(std::string site) : site_(std::move(site)) {}

  void crawl(const std::string& first) {
    weft::with_nursery([&](weft::Nursery& nursery) { visit(nursery, first); });
  }
  void report() const {
    std::printf("%zu pages found, %u missing\n", seen_.size() - missing_, missing_.load());
    std::printf("at most %u at once: %s\n", at_once, most_ <= at_once && most_ > 1 ? "yes" : "no");
    std::printf("no more connections than that: %s\n", client_.counts().connections <= at_once ? "yes" : "no");
  }

 private:
  // Once per page, in a task of its own.
  void visit(weft::Nursery& nursery, const std::string& path) {
    {
      const std::lock_guard guard(mutex_);
      if (!seen_.insert(path).second) return;
    }
    nursery.start([this, &nursery, path] {
      std::vector<std::string> links;
      {
        const Seat seat(*this);
        const weft::HttpReply reply = client_.get(site_ + path);
        if (reply.status != 200) ++missing_;
        links = links_of(reply.body);
      }
      for (const std::string& link : links) visit(nursery, link);
    });
  }

  struct Seat {
    explicit Seat(Crawler& its_crawler) : crawler(its_crawler) {
      crawler.seats_.acquire();
      const unsigned now = ++crawler.under_way_;
      for (unsigned most = crawler.most_; most < now && !crawler.most_.compare_exchange_weak(most, now);) {
      }
    }
    ~Seat() {
      --crawler.under_way_;
      crawler.seats_.release();
    }
    Seat(const Seat&) = delete;
    Seat& operator=(const Seat&) = delete;
    Crawler& crawler;
  };

  std::string site_;
  weft::HttpClient client_;
  weft::Semaphore seats_{at_once};
  weft::Mutex mutex_;
  std::set<std::string> seen_;  // under the mutex
  std::atomic<unsigned> under_way_{0};
  std::atomic<unsigned> most_{0};
  std::atomic<unsigned> missing_{0};
};

}  // namespace

int main() {
  return weft::run([] {
    weft::HttpServer server(weft::TcpListener::bind(weft::Address::loopback()), {}, serve_page);
    weft::with_nursery([&](weft::Nursery& nursery) {
      nursery.start([&] { server.run(); });
      Crawler crawler("http://" + server.local().to_string());
      crawler.crawl("/page/1");
      crawler.report();
      server.stop(5s);
    });
    std::printf("%llu requests served\n", static_cast<unsigned long long>(server.http_counts().requests));
    return 0;
  });
}
