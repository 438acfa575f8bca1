// SPDX-License-Identifier: MIT
// What: certificates for a test, made when it runs: a root, and what it signs, as PEM files in a folder that goes with
// this object.
#pragma once

#include <openssl/ec.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/x509.h>
#include <openssl/x509v3.h>

#include <cstdio>
#include <filesystem>
#include <memory>
#include <stdexcept>
#include <string>

namespace weft_test {

class Certificates {
 public:
  Certificates() {
    std::string name = (std::filesystem::temp_directory_path() / "weft-tls-XXXXXX").string();
    if (mkdtemp(name.data()) == nullptr) throw std::runtime_error("mkdtemp");
    folder_ = name;
    root_key_ = new_key();
    root_ = issue("weft test root", "", *root_key_, nullptr, -1, 1);
    save(root_.get(), root_key_.get(), "root");
    leaf("good", "DNS:localhost,IP:127.0.0.1", -1, 1, true);
    leaf("other", "DNS:other.example", -1, 1, true);
    leaf("named", "IP:192.0.2.1", -1, 1, true);
    leaf("expired", "DNS:localhost,IP:127.0.0.1", -2, -1, true);
    leaf("self", "DNS:localhost,IP:127.0.0.1", -1, 1, false);
  }
  ~Certificates() { std::filesystem::remove_all(folder_); }
  Certificates(const Certificates&) = delete;
  Certificates& operator=(const Certificates&) = delete;

  std::string root() const { return certificate("root"); }
  std::string certificate(const std::string& name) const { return folder_ + "/" + name + ".pem"; }
  std::string key(const std::string& name) const { return folder_ + "/" + name + ".key"; }

 private:
  template <class T, void (*free)(T*)>
  struct Freed {
    void operator()(T* object) const { free(object); }
  };
  using Key = std::unique_ptr<EVP_PKEY, Freed<EVP_PKEY, EVP_PKEY_free>>;
  using Certificate = std::unique_ptr<X509, Freed<X509, X509_free>>;

  static void must(bool good) {
    if (!good) throw std::runtime_error("a certificate cannot be made");
  }

  static Key new_key() {
    Key key(EVP_PKEY_Q_keygen(nullptr, nullptr, "EC", "P-256"));  // the macro for it casts const away
    must(key != nullptr);
    return key;
  }

  static void extend(X509* certificate, X509* issuer, int kind, const std::string& value) {
    X509V3_CTX context;
    X509V3_set_ctx_nodb(&context);
    X509V3_set_ctx(&context, issuer, certificate, nullptr, nullptr, 0);
    X509_EXTENSION* extension = X509V3_EXT_conf_nid(nullptr, &context, kind, value.c_str());
    must(extension != nullptr && X509_add_ext(certificate, extension, -1) == 1);
    X509_EXTENSION_free(extension);
  }

  // From and to: days from now. Without an issuer: signed by itself.
  Certificate issue(const std::string& name, const std::string& hosts, EVP_PKEY& key, X509* issuer, int from, int to) {
    Certificate made(X509_new());
    X509* c = made.get();
    must(c != nullptr && X509_set_version(c, 2) == 1);
    must(ASN1_INTEGER_set(X509_get_serialNumber(c), ++serial_) == 1);
    must(X509_gmtime_adj(X509_getm_notBefore(c), from * 86400L) != nullptr);
    must(X509_gmtime_adj(X509_getm_notAfter(c), to * 86400L) != nullptr);
    X509_NAME* subject = X509_get_subject_name(c);
    must(X509_NAME_add_entry_by_txt(subject, "CN", MBSTRING_ASC, reinterpret_cast<const unsigned char*>(name.c_str()),
                                    -1, -1, 0) == 1);
    must(X509_set_issuer_name(c, issuer != nullptr ? X509_get_subject_name(issuer) : subject) == 1);
    must(X509_set_pubkey(c, &key) == 1);
    X509* by = issuer != nullptr ? issuer : c;
    if (hosts.empty()) {
      extend(c, by, NID_basic_constraints, "critical,CA:TRUE");
    } else {
      extend(c, by, NID_subject_alt_name, hosts);
    }
    must(X509_sign(c, issuer != nullptr ? root_key_.get() : &key, EVP_sha256()) != 0);
    return made;
  }

  void leaf(const std::string& name, const std::string& hosts, int from, int to, bool by_root) {
    const Key key = new_key();
    const Certificate made = issue(name, hosts, *key, by_root ? root_.get() : nullptr, from, to);
    save(made.get(), key.get(), name);
  }

  void save(X509* made, EVP_PKEY* key, const std::string& name) const {
    std::FILE* file = std::fopen(certificate(name).c_str(), "we");
    must(file != nullptr && PEM_write_X509(file, made) == 1);
    std::fclose(file);
    file = std::fopen(this->key(name).c_str(), "we");
    must(file != nullptr && PEM_write_PrivateKey(file, key, nullptr, nullptr, 0, nullptr, nullptr) == 1);
    std::fclose(file);
  }

  std::string folder_;
  Key root_key_;
  Certificate root_;
  long serial_ = 0;
};

inline const Certificates& certificates() {
  static const Certificates all;
  return all;
}

}  // namespace weft_test
