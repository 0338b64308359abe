// A small HTTP/1.1 server on 127.0.0.1 for the download tests: serves strings and ranges, and injects faults.
#pragma once
#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <atomic>
#include <map>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

namespace tandem::test {

class HttpServer {
 public:
  std::map<std::string, std::string> files;  ///< path → content; set before use
  std::atomic<bool> ranges{true};            ///< false: ignores ranges and sends the whole file
  std::atomic<int> cut_after{-1};            ///< closes the connection after that many bytes of the body
  std::atomic<int> cuts_left{1 << 30};       ///< number of responses to truncate; later ones are complete

  HttpServer() {
    listener_ = ::socket(AF_INET, SOCK_STREAM, 0);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    ::bind(listener_, reinterpret_cast<sockaddr*>(&address), sizeof address);
    ::listen(listener_, 16);
    socklen_t length = sizeof address;
    ::getsockname(listener_, reinterpret_cast<sockaddr*>(&address), &length);
    port_ = ntohs(address.sin_port);
    thread_ = std::thread([this] { serve(); });
  }
  ~HttpServer() {
    ::shutdown(listener_, SHUT_RDWR);
    thread_.join();
    ::close(listener_);
  }

  std::string url() const { return "http://127.0.0.1:" + std::to_string(port_); }
  /// All requests so far, as "path" or "path from-byte".
  std::vector<std::string> requests() {
    std::lock_guard lock(mutex_);
    return requests_;
  }

 private:
  void serve() {
    for (int client; (client = ::accept(listener_, nullptr, nullptr)) >= 0; ::close(client)) answer(client);
  }

  static std::string read_request(int client) {
    std::string request;
    char buffer[4096];
    while (request.find("\r\n\r\n") == std::string::npos) {
      const ssize_t got = ::recv(client, buffer, sizeof buffer, 0);
      if (got <= 0) break;
      request.append(buffer, static_cast<std::size_t>(got));
    }
    return request;
  }

  void send_all(int client, const std::string& bytes) {
    for (std::size_t at = 0; at < bytes.size();) {
      const ssize_t sent = ::send(client, bytes.data() + at, bytes.size() - at, MSG_NOSIGNAL);
      if (sent <= 0) return;
      at += static_cast<std::size_t>(sent);
    }
  }

  void answer(int client) {
    const std::string request = read_request(client);
    const std::size_t from = request.find(' '), to = request.find(' ', from + 1);
    if (to == std::string::npos) return;
    const std::string path = request.substr(from + 1, to - from - 1);
    const std::size_t range = request.find("Range: bytes=");
    const std::size_t start =
        ranges && range != std::string::npos ? std::stoul(request.substr(range + sizeof "Range: bytes=" - 1)) : 0;
    {
      std::lock_guard lock(mutex_);
      requests_.push_back(start == 0 ? path : path + " " + std::to_string(start));
    }
    const auto file = files.find(path);
    if (file == files.end())
      return send_all(client, "HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\nConnection: close\r\n\r\n");
    const std::size_t size = file->second.size();
    if (start >= size && start != 0)
      return send_all(client, "HTTP/1.1 416 Range Not Satisfiable\r\nContent-Range: bytes */" + std::to_string(size) +
                                  "\r\nContent-Length: 0\r\nConnection: close\r\n\r\n");
    std::string head = start == 0 ? "HTTP/1.1 200 OK\r\n"
                                  : "HTTP/1.1 206 Partial Content\r\nContent-Range: bytes " + std::to_string(start) +
                                        "-" + std::to_string(size - 1) + "/" + std::to_string(size) + "\r\n";
    head += "Content-Length: " + std::to_string(size - start) + "\r\nConnection: close\r\n\r\n";
    std::string body = file->second.substr(start);
    if (cut_after >= 0 && cuts_left-- > 0)
      body.resize(std::min<std::size_t>(body.size(), static_cast<std::size_t>(cut_after)));
    send_all(client, head + body);
  }

  int listener_ = -1;
  int port_ = 0;
  std::thread thread_;
  std::mutex mutex_;
  std::vector<std::string> requests_;
};

}  // namespace tandem::test
