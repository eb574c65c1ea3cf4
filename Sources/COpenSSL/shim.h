#pragma once
// Digests, message authentication codes, certificates and constant-time comparison from libcrypto, and connection
// details from libssl; libcurl links both already.
#include <openssl/crypto.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>
#include <openssl/x509.h>
#include <openssl/x509v3.h>

// Macros that Swift cannot call.
static inline void tg_openssl_free(void *memory) { OPENSSL_free(memory); }

/// `C = DE, CN = example.com`.
static inline int tg_x509_write_name(BIO *text, const X509_NAME *name) {
    return X509_NAME_print_ex(text, name, 0, XN_FLAG_ONELINE);
}

/// `CN=example.com,O=Example,C=DE` (RFC 2253).
static inline int tg_x509_write_rfc2253_name(BIO *text, const X509_NAME *name) {
    return X509_NAME_print_ex(text, name, 0, XN_FLAG_RFC2253 & ~ASN1_STRFLGS_ESC_MSB);
}

/// The DNS names of a certificate (subjectAltName, RFC 5280); calls `found` with `context` and each name.
static inline void tg_x509_dns_names(X509 *certificate, void *context, void (*found)(void *, const char *, int)) {
    GENERAL_NAMES *names = X509_get_ext_d2i(certificate, NID_subject_alt_name, NULL, NULL);
    for (int position = 0; position < sk_GENERAL_NAME_num(names); position++) {
        GENERAL_NAME *name = sk_GENERAL_NAME_value(names, position);
        if (name->type != GEN_DNS) continue;
        found(context, (const char *)ASN1_STRING_get0_data(name->d.dNSName), ASN1_STRING_length(name->d.dNSName));
    }
    GENERAL_NAMES_free(names);
}

/// Seconds since 1970; 0 if the time cannot be read.
static inline int tg_x509_seconds(const ASN1_TIME *time, long long *seconds) {
    ASN1_TIME *epoch = ASN1_TIME_set(NULL, 0);
    int days = 0, rest = 0;
    int isRead = epoch != NULL && ASN1_TIME_diff(&days, &rest, epoch, time) == 1;
    ASN1_TIME_free(epoch);
    *seconds = days * 86400LL + rest;
    return isRead;
}

/// `Nov 21 12:00:00 2026 GMT`.
static inline int tg_x509_write_time(BIO *text, const ASN1_TIME *time) { return ASN1_TIME_print(text, time); }

static inline int tg_x509_count(const STACK_OF(X509) *chain) { return chain == NULL ? 0 : sk_X509_num(chain); }

static inline X509 *tg_x509_at(const STACK_OF(X509) *chain, int position) { return sk_X509_value(chain, position); }

static inline int tg_ssl_new_index(CRYPTO_EX_free *free) { return SSL_get_ex_new_index(0, NULL, NULL, NULL, free); }

static inline const char *tg_ssl_servername(const SSL *ssl) {
    return SSL_get_servername(ssl, TLSEXT_NAMETYPE_host_name);
}

/// The DNS names and addresses of a certificate (subjectAltName, RFC 5280); calls `found` with `context` and each of
/// them as text.
static inline void tg_x509_names(X509 *certificate, void *context, void (*found)(void *, const char *, int)) {
    GENERAL_NAMES *names = X509_get_ext_d2i(certificate, NID_subject_alt_name, NULL, NULL);
    for (int position = 0; position < sk_GENERAL_NAME_num(names); position++) {
        GENERAL_NAME *name = sk_GENERAL_NAME_value(names, position);
        BIO *text = BIO_new(BIO_s_mem());
        if (text == NULL) break;
        if (GENERAL_NAME_print(text, name) == 1) {
            char *bytes = NULL;
            long count = BIO_get_mem_data(text, &bytes);
            found(context, bytes, (int)count);
        }
        BIO_free(text);
    }
    GENERAL_NAMES_free(names);
}

static inline STACK_OF(X509) *tg_x509_new_stack(void) { return sk_X509_new_null(); }

/// Adds a certificate, which the stack and the caller then share; 0 if out of memory.
static inline int tg_x509_add(STACK_OF(X509) *stack, X509 *certificate) {
    if (X509_up_ref(certificate) != 1) return 0;
    if (sk_X509_push(stack, certificate) > 0) return 1;
    X509_free(certificate);
    return 0;
}

static inline void tg_x509_free_stack(STACK_OF(X509) *stack) { sk_X509_pop_free(stack, X509_free); }
