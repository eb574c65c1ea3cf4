internal import CCurl

/// A libcurl transfer (CURL), reused after a reset, and the buffer for its error messages.
struct EasyHandle: ~Copyable {
    let raw: UnsafeMutableRawPointer
    let errorBuffer: UnsafeMutablePointer<CChar>

    init() throws(CurlError) {
        guard let raw = curl_easy_init() else {
            throw CurlError.outOfMemory("curl_easy_init", Int32(CURLE_FAILED_INIT.rawValue))
        }
        self.raw = raw
        self.errorBuffer = .allocate(capacity: Int(CURL_ERROR_SIZE))
        self.errorBuffer.initialize(repeating: 0, count: Int(CURL_ERROR_SIZE))
    }

    deinit {
        curl_easy_cleanup(self.raw)
        self.errorBuffer.deallocate()
    }

    /// Resets every option; keeps the memory.
    func reset() { curl_easy_reset(self.raw) }

    /// libcurl's text about the last failure; nil if none exists.
    var errorMessage: String? { self.errorBuffer[0] == 0 ? nil : String(cString: self.errorBuffer) }

    func clearErrorMessage() { self.errorBuffer[0] = 0 }

    func set(_ option: CURLoption, _ value: Int) throws(CurlError) {
        try self.check(tg_easy_set_long(self.raw, option, value), option)
    }

    func set(_ option: CURLoption, offset value: Int64) throws(CurlError) {
        try self.check(tg_easy_set_offset(self.raw, option, curl_off_t(value)), option)
    }

    func set(_ option: CURLoption, _ value: String) throws(CurlError) {
        try self.check(tg_easy_set_string(self.raw, option, value), option)
    }

    func set(_ option: CURLoption, pointer value: UnsafeMutableRawPointer?) throws(CurlError) {
        try self.check(tg_easy_set_pointer(self.raw, option, value), option)
    }

    /// Sets an option to text that libcurl copies.
    func set(_ option: CURLoption, blob text: String) throws(CurlError) {
        var text = text
        let code = text.withUTF8 { tg_easy_set_blob(self.raw, option, $0.baseAddress, $0.count) }
        try self.check(code, option)
    }

    /// Sets a list, which must live until the transfer ends.
    func set(_ option: CURLoption, _ list: borrowing CurlList) throws(CurlError) {
        try self.check(tg_easy_set_list(self.raw, option, list.raw), option)
    }

    /// A number that libcurl records about the transfer; 0 if it has none.
    func long(_ info: CURLINFO) -> Int {
        var value = 0
        return tg_easy_get_long(self.raw, info, &value) == CURLE_OK ? value : 0
    }

    /// A count or a time in microseconds; 0 if libcurl has none.
    func offset(_ info: CURLINFO) -> Int64 {
        var value: curl_off_t = 0
        return tg_easy_get_offset(self.raw, info, &value) == CURLE_OK ? Int64(value) : 0
    }

    private func check(_ code: CURLcode, _ option: CURLoption) throws(CurlError) {
        try CurlError.check(code, EasyHandle.name(of: option))
    }

    private static func name(of option: CURLoption) -> String {
        curl_easy_option_by_id(option).map { "CURLOPT_\(String(cString: $0.pointee.name))" } ?? "curl_easy_setopt"
    }
}

/// A list of strings in libcurl's form (curl_slist).
struct CurlList: ~Copyable {
    private(set) var raw: UnsafeMutablePointer<curl_slist>?

    deinit { curl_slist_free_all(self.raw) }

    var isEmpty: Bool { self.raw == nil }

    mutating func append(_ text: String) throws(CurlError) {
        guard let longer = curl_slist_append(self.raw, text) else { throw CurlError.outOfMemory("curl_slist_append") }
        self.raw = longer
    }

    /// Removes every string.
    mutating func clear() {
        guard self.raw != nil else { return }
        curl_slist_free_all(self.raw)
        self.raw = nil
    }
}

/// A URL that libcurl parses once for all transfers that use it (CURLU, libcurl-url(3)).
///
/// With a text, every transfer would parse and reassemble the URL: a tenth of libcurl's work for a small request.
struct CurlURL: ~Copyable {
    private let raw: OpaquePointer

    init() throws(CurlError) {
        guard let raw = curl_url() else { throw CurlError.outOfMemory("curl_url") }
        self.raw = raw
    }

    deinit { curl_url_cleanup(self.raw) }

    /// The value for CURLOPT_CURLU; valid as long as this object.
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
