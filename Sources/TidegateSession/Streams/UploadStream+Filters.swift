internal import TidegateCore
internal import TidegateTransfer

// Streams made of streams.
extension UploadStream {
    /// A stream of the same bytes in pieces of `bytes` at most, with `interval` between two.
    ///
    /// This stream is read by the new one and must not be sent itself.
    public func throttled(
        bytes: Int = 16 * 1024, every interval: Duration = .milliseconds(200),
        clock: any Clock<Duration> = ContinuousClock()
    ) -> UploadStream {
        let throttle = UploadThrottle(bytes: bytes, interval: interval, clock: clock, make: self.make)
        return UploadStream(length: self.length) { try await throttle.next() }
    }

    /// A stream of the same bytes compressed (RFC 1952), whose length is not known.
    func gzipped() -> UploadStream {
        let compressor = UploadCompressor(make: self.make)
        return UploadStream { try await compressor.next() }
    }
}

private actor UploadThrottle {
    private let bytes: Int
    private let interval: Duration
    private let clock: any Clock<Duration>
    private let make: @Sendable () async throws -> [UInt8]?
    private var rest: ArraySlice<UInt8> = []
    private var isFirst = true

    init(
        bytes: Int, interval: Duration, clock: any Clock<Duration>,
        make: @escaping @Sendable () async throws -> [UInt8]?
    ) {
        self.bytes = max(1, bytes)
        self.interval = interval
        self.clock = clock
        self.make = make
    }

    func next() async throws -> [UInt8]? {
        while self.rest.isEmpty {
            guard let chunk = try await self.make() else { return nil }
            self.rest = chunk[...]
        }
        if !self.isFirst { try await self.clock.sleep(for: self.interval) }
        self.isFirst = false
        let piece = Array(self.rest.prefix(self.bytes))
        self.rest = self.rest.dropFirst(piece.count)
        return piece
    }
}

private actor UploadCompressor {
    private let make: @Sendable () async throws -> [UInt8]?
    private let encoder = GzipEncoder()
    private var isOver = false

    init(make: @escaping @Sendable () async throws -> [UInt8]?) { self.make = make }

    func next() async throws -> [UInt8]? {
        while !self.isOver {
            let chunk = try await self.make()
            self.isOver = chunk == nil
            guard self.encoder != nil else { throw TextError("no memory to compress the body") }
            let piece = self.encode(chunk ?? [])
            if !piece.isEmpty { return piece }
        }
        return nil
    }

    private func encode(_ bytes: [UInt8]) -> [UInt8] { self.encoder?.encode(bytes, isLast: self.isOver) ?? [] }
}
