internal import CCurl

/// A URL that libcurl has taken to pieces once for all transfers that ask for it (CURLU, libcurl-url(3)).
///
/// Given the text alone, every transfer parses it and puts it together again: a tenth of what libcurl does for a small
/// request.
struct ParsedURL: ~Copyable {
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

    /// Takes another URL.
    func parse(_ text: String) throws(CurlError) {
        let code = curl_url_set(self.raw, CURLUPART_URL, text, 0)
        guard code == CURLUE_OK else {
            throw CurlError(
                operation: "CURLOPT_URL", code: Int32(CURLE_URL_MALFORMAT.rawValue),
                text: String(cString: curl_url_strerror(code)))
        }
    }
}
