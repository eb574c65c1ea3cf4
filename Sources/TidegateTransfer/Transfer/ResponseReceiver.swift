internal import CCurl
internal import TidegateCore

/// The response being received: its head, and the destination of its body.
// Not copyable, so that it is accessed in place.
struct ResponseReceiver: ~Copyable {
    var head = ResponseHeadParser()
    private(set) var writer = BodyWriter()
    private var decoding = Decoding.none

    /// Which decoder handles the body.
    private enum Decoding {
        case none, libcurl
        case here(ContentDecoder)
    }

    /// Chooses the decoder of the body: libcurl, unless we decode it here; nil is success.
    mutating func chooseDecoder(_ request: Indirect<AttemptRequest>, on easy: borrowing EasyHandle) -> BodyWriter.Step?
    {
        self.decoding = .none
        if let coding = self.head.block.unrequestedTransferCoding, !self.hasNoBody(request) {
            // The status says more about a refused request.
            if case .reject(let failure) = self.head.range { return .failed(failure, "") }
            return .failed(.protocolError, "the body is transferred as \(coding), which was not requested")
        }
        if let coding = request.value.bodyCoding { return self.isGood ? self.choose(coding, on: easy) : nil }
        guard request.value.acceptsCompression else { return nil }
        if let encoding = self.head.block.contentEncoding {
            if let coding = ContentDecoder.Coding(contentEncoding: encoding) {
                guard let decoder = ContentDecoder(coding) else { return .failed(.internal, "out of memory") }
                self.decoding = .here(decoder)
            } else if encoding == "br", CurlLibrary.decodesOnDemand {
                self.decoding = .libcurl
            } else if self.isGood {
                return .failed(.protocolError, "the body is encoded as \(encoding), which is not supported")
            }
        }
        return self.applyDecoding(to: easy)
    }

    // The request specifies the encoding, whatever the response says.
    private mutating func choose(_ coding: BodyCoding, on easy: borrowing EasyHandle) -> BodyWriter.Step? {
        switch coding {
        case .identity: break
        case .gzip, .deflate:
            guard let decoder = ContentDecoder(coding == .gzip ? .gzip : .deflate, isBare: coding == .deflate) else {
                return .failed(.internal, "out of memory")
            }
            self.decoding = .here(decoder)
        case .br:
            // Only libcurl can decode it, and it relies on the field.
            guard self.head.block.contentEncoding == "br", CurlLibrary.decodesOnDemand else {
                return .failed(.protocolError, "the body is not encoded as br")
            }
            self.decoding = .libcurl
        }
        return self.applyDecoding(to: easy)
    }

    // Set for each attempt, because the next one uses the same handle.
    private func applyDecoding(to easy: borrowing EasyHandle) -> BodyWriter.Step? {
        guard CurlLibrary.decodesOnDemand else { return nil }
        let isLibcurls: Bool
        switch self.decoding {
        case .none, .here: isLibcurls = false
        case .libcurl: isLibcurls = true
        }
        do throws(CurlError) {
            try easy.set(CURLOPT_HTTP_CONTENT_DECODING, isLibcurls ? 1 : 0)
        } catch {
            return .failed(.internal, error.description)
        }
        return nil
    }

    /// Prepares the sink when the head is known, before the first byte and even if no body follows; nil is success.
    mutating func openSink(_ request: Indirect<AttemptRequest>) -> BodyWriter.Step? {
        if let limit = request.value.maxBodyBytes, !self.isDecoded, let length = self.expectedLength(of: request),
            length > limit
        {
            return .failed(.tooLarge, "the body of \(length) bytes is larger than the limit of \(limit)")
        }
        return self.writer.start(self.head, of: request, isDecoded: self.isDecoded)
    }

    // Whether the body goes to the requested sink.
    private var isGood: Bool {
        switch self.head.range {
        case .append, .restartFromZero: true
        case .alreadyComplete, .reject: false
        }
    }

    private var isDecoded: Bool {
        if case .none = self.decoding { false } else { true }
    }

    /// Accepts body bytes from libcurl.
    mutating func write(_ bytes: UnsafeRawBufferPointer, _ request: Indirect<AttemptRequest>) -> BodyWriter.Step {
        guard case .here(let decoder) = self.decoding else { return self.store(bytes, request) }
        let step = decoder.decode(bytes) { self.store($0, request) }
        // The body of an error response need not be decodable.
        if case .failed(.protocolError, _) = step, case .reject(let failure) = self.head.range {
            return .failed(failure, "")
        }
        return step
    }

    private mutating func store(_ bytes: UnsafeRawBufferPointer, _ request: Indirect<AttemptRequest>) -> BodyWriter.Step
    {
        if self.exceedsRange(bytes.count, request) {
            return .failed(.rangeMismatch, "the server sent more bytes than the range that it named")
        }
        if let limit = request.value.maxBodyBytes, self.isGood,
            self.offset(of: request) + self.writer.chunkStart + Int64(bytes.count) > limit
        {
            return .failed(.tooLarge, "the body is larger than the limit of \(limit) bytes")
        }
        return self.writer.write(bytes, to: request.value.sink, self.head.range, observer: request.value.bodyObserver)
    }

    // With a length, libcurl stops at it; a part in chunks, or one that ends with its connection, has none.
    private func exceedsRange(_ count: Int, _ request: Indirect<AttemptRequest>) -> Bool {
        guard self.head.status == 206, self.head.range == .append, !self.isDecoded,
            let announced = self.head.announcedLength
        else { return false }
        return self.writer.chunkStart + Int64(count) > announced
    }

    mutating func clear() {
        self.head.clear()
        self.writer.clear()
        self.decoding = .none
    }

    /// The position of the received body within the whole one.
    func offset(of request: Indirect<AttemptRequest>?) -> Int64 {
        self.head.isComplete && self.head.range == .append ? request?.value.resume?.offset ?? 0 : 0
    }

    /// The length of the whole body on the wire; nil while unknown.
    func expectedLength(of request: Indirect<AttemptRequest>?) -> Int64? {
        guard self.head.isComplete else { return nil }
        if self.hasNoBody(request) { return self.offset(of: request) }
        return self.head.announcedLength.map { length in
            let (sum, isTooLong) = self.offset(of: request).addingReportingOverflow(length)
            return isTooLong ? .max : sum
        }
    }

    /// Whether fewer bytes arrived than the head announced.
    ///
    /// libcurl reports no error if a part in chunks ends early, or one whose socket was shut down locally.
    func isShort(of request: Indirect<AttemptRequest>?, received: Int64) -> Bool {
        guard let length = self.head.announcedLength, !self.hasNoBody(request) else { return false }
        return received < length
    }

    /// Why an encoded body must not end here; nil if it may.
    ///
    /// A requested part may end anywhere.
    var incompleteText: String? {
        guard case .here(let decoder) = self.decoding, !decoder.isAtEnd, self.head.status != 206 else { return nil }
        return decoder.incompleteText
    }

    /// Whether the end of the body is verified: by its length, the last chunk or a response without a body.
    func isEndProved(_ request: Indirect<AttemptRequest>?) -> Bool {
        guard let head = self.head.value else { return false }
        if head.range == .alreadyComplete { return true }
        if self.isPartOfUnknown(request) { return false }
        if self.head.announcedLength != nil || self.hasNoBody(request) { return true }
        // "chunked" is the last coding if it is used at all (RFC 9112 section 6.1); HTTP/2 has none.
        return head.field("transfer-encoding")?.lowercased().hasSuffix("chunked") ?? false
    }

    // `bytes 5-9/*`: byte 9 may or may not be the last one.
    private func isPartOfUnknown(_ request: Indirect<AttemptRequest>?) -> Bool {
        guard self.head.status == 206, let resume = request?.value.resume, resume.total == nil else { return false }
        return self.head.block.contentRange?.total == nil
    }

    /// Two announced lengths of the body that contradict each other, so that its end is unknown (RFC 9112 section 6.3).
    func contradictoryLengths(of request: Indirect<AttemptRequest>) -> (Int64, Int64)? {
        guard let head = self.head.value, head.contentLength == nil, !self.hasNoBody(request),
            head.field("transfer-encoding") == nil
        else { return nil }
        return self.head.block.contradictoryLengths
    }

    private func hasNoBody(_ request: Indirect<AttemptRequest>?) -> Bool {
        request?.value.method == "HEAD" || self.head.status == 204 || self.head.status == 304
    }
}
