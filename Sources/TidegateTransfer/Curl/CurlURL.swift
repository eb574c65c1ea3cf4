internal import CCurl

/// A URL that libcurl has parsed once for all transfers that use it (CURLU, libcurl-url(3)).
///
/// Given only the text, every transfer would parse it and assemble it again: a tenth of libcurl's work for a small
/// request.
struct CurlURL: ~Copyable {
    private let raw: OpaquePointer

    init() throws(CurlError) {
        guard let raw = curl_url() else {
            throw CurlError(operation: "curl_url", code: Int32(CURLE_OUT_OF_MEMORY.rawValue), text: "out of memory")
        }
        self.raw = raw
    }

    deinit { curl_url_cleanup(self.raw) }

    /// What CURLOPT_CURLU takes; valid for as long as this lives.
    var pointer: UnsafeMutableRawPointer { UnsafeMutableRawPointer(self.raw) }

    /// Parses another URL.
    func parse(_ text: String) throws(CurlError) {
        let code = curl_url_set(self.raw, CURLUPART_URL, text, 0)
        guard code == CURLUE_OK else {
            throw CurlError(
                operation: "CURLOPT_URL", code: Int32(CURLE_URL_MALFORMAT.rawValue),
                text: String(cString: curl_url_strerror(code)))
        }
    }
}
