internal import CCurl
internal import Glibc

/// A failed call of libcurl.
package struct CurlError: Error, Sendable, CustomStringConvertible {
    /// The call, as its man page names it, or the option being set.
    package let operation: String
    /// The `CURLcode` or `CURLMcode` (libcurl-errors(3)).
    package let code: Int32
    /// libcurl's text for the code.
    package let text: String

    package var description: String { "\(self.operation): \(self.text) (\(self.code))" }

    /// Throws if a `CURLcode` is not CURLE_OK.
    static func check(_ code: CURLcode, _ operation: @autoclosure () -> String) throws(CurlError) {
        guard code != CURLE_OK else { return }
        throw CurlError(operation: operation(), code: Int32(code.rawValue), text: self.text(of: code))
    }

    /// Throws if a `CURLMcode` is not CURLM_OK.
    static func check(_ code: CURLMcode, _ operation: @autoclosure () -> String) throws(CurlError) {
        guard code != CURLM_OK else { return }
        let text = curl_multi_strerror(code).map { String(cString: $0) } ?? "unknown error"
        throw CurlError(operation: operation(), code: code.rawValue, text: text)
    }

    static func outOfMemory(
        _ operation: String, _ code: Int32 = Int32(CURLE_OUT_OF_MEMORY.rawValue)
    ) -> CurlError { CurlError(operation: operation, code: code, text: "out of memory") }

    static func text(of code: CURLcode) -> String {
        curl_easy_strerror(code).map { String(cString: $0) } ?? "unknown error"
    }
}

/// libcurl's process-wide state.
enum CurlLibrary {
    // Run once, by the first thread that reads it (globals are lazy); later reads only return the result.
    private static let status: CURLcode = {
        // Otherwise a write to a closed connection would end the process; libcurl sets no handler of its own.
        signal(SIGPIPE, SIG_IGN)
        return tg_global_init()
    }()

    /// Whether libcurl's decoding can be switched off for a body as late as at the end of the head.
    ///
    /// libcurl 7 checks CURLOPT_HTTP_CONTENT_DECODING for every piece of the body. Later versions create their decoder
    /// when they see Content-Encoding, which is earlier.
    static let decodesOnDemand = curl_version_info(CURLVERSION_FIRST).pointee.version_num < 0x08_0000

    /// The codings of bodies that are requested (RFC 9110 section 12.5.3).
    ///
    /// Not `zstd`: libcurl allows a server a window of 128 MiB, and one call decodes as much as the server likes. The
    /// window of Brotli has at most 16 MiB.
    static let codings = decodesOnDemand ? "gzip, deflate, br" : "gzip, deflate"

    /// Prepares libcurl; must be called before the first thread uses it.
    static func prepare() throws(CurlError) { try CurlError.check(self.status, "curl_global_init") }
}

/// Numbers passed to libcurl.
enum CurlLimits {
    /// Connections kept open for reuse.
    static let idleConnections = 256
    /// The receive buffer in bytes; a larger one gains little, a smaller one costs system calls.
    ///
    /// libcurl frees it after every transfer, and freeing 64 KiB or more makes the C library trim its whole heap.
    static let receiveBuffer = 60 * 1024
    /// The same for bodies that stay in memory: they are small, so a small buffer costs less.
    static let smallReceiveBuffer = 16 * 1024
    static let sendBuffer = 64 * 1024
    /// A body larger than this many bytes waits for the server's approval (Expect: 100-continue).
    static let expectContinue: Int64 = 1024 * 1024
    /// Seconds after which an idle connection is no longer reused.
    static let connectionAge = 60
    static let keepAliveIdle = 30
    static let keepAliveInterval = 10
    /// Milliseconds until unacknowledged bytes end a connection (TCP_USER_TIMEOUT, tcp(7)).
    static let userTimeout: Int32 = 10_000
}
