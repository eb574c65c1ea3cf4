internal import HTTPTypes
internal import Hummingbird
internal import HummingbirdCore
internal import NIOCore
internal import TidegateCore
internal import TidegateMetrics

/// The exposition, in the format and the encoding that the client asks for.
struct MetricsRoute: Sendable {
    let dependencies: EndpointRoutes.Dependencies
    private let scrapes = ScrapeCoalescer()

    init(dependencies: EndpointRoutes.Dependencies) { self.dependencies = dependencies }

    func respond(to request: Request, context: ServerContext) async -> Response {
        let key = ScrapeCoalescer.Key(
            format: ContentNegotiation.format(accept: request.headers.list(.accept)),
            names: QueryParameters(target: request.head.path ?? "").values(of: "name[]"),
            isCompressed: Gzip.isAccepted(by: request.headers.list(.acceptEncoding)))
        let body = await self.scrapes.exposition(key) { self.exposition(key, inFlight: context.inFlight) }
        var headers: HTTPFields = [.contentType: key.format.contentType, .vary: "Accept, Accept-Encoding"]
        // No exposition begins like this, so the body itself says whether it was compressed.
        if body.starts(with: Gzip.magic) { headers[.contentEncoding] = "gzip" }
        return Response(status: .ok, headers: headers, body: ResponseBody(byteBuffer: ByteBuffer(bytes: body)))
    }

    // Compressed here and not by a middleware: concurrent scrapes share the compressed body, too.
    private func exposition(_ key: ScrapeCoalescer.Key, inFlight: Int) -> [UInt8] {
        let body = self.dependencies.recorder.exposition(
            of: self.inputs(inFlight: inFlight), in: key.format, choice: FamilyChoice(names: key.names))
        return key.isCompressed ? Gzip.compress(body) ?? body : body
    }

    /// The samples that a scrape would return now.
    func samples(inFlight: Int) -> [MetricSample] {
        self.dependencies.recorder.samples(of: self.inputs(inFlight: inFlight))
    }

    private func inputs(inFlight: Int) -> ScrapeInputs {
        let (configuration, view) = (self.dependencies.configuration, self.dependencies.view)
        var statistics = self.dependencies.bus.statistics()
        statistics[.sse]?.add(self.dependencies.history.statistics)
        let subscribers = statistics.map { kind, statistics in
            ScrapeInputs.Subscriber(
                label: kind.label, queued: statistics.queued, capacity: statistics.capacity, dropped: statistics.dropped
            )
        }
        return ScrapeInputs(
            now: self.dependencies.time.monotonic(), status: view.status, targetNames: configuration.targetNames,
            session: view.sessionStatistics(), subscribers: subscribers.sorted { $0.label < $1.label },
            process: ProcessReader(time: self.dependencies.time).sample(), requestsInFlight: inFlight)
    }
}
