internal import HTTPTypes
internal import Hummingbird
internal import TidegateCore

/// `GET /api/v1/events`: Server-Sent Events for as long as the client reads them.
struct EventsRoute: Sendable {
    let dependencies: EndpointRoutes.Dependencies
    let slots: EventStreamSlots

    func respond(to request: Request, context: ServerContext) -> Response {
        var response = Response(status: .ok, headers: [.contentType: "text/event-stream"])
        // nginx would buffer events otherwise.
        response.headers[named: "X-Accel-Buffering"] = "no"
        let lastID = request.headers[named: "Last-Event-ID"].flatMap { $0.isEmpty ? nil : $0 }
        guard request.method == .get else {
            response.body = ResponseBody { _ in }
            return response
        }
        let (dependencies, channel, slots) = (self.dependencies, context.channel, self.slots)
        let reader = dependencies.history.follow(
            after: lastID, bufferingNewest: dependencies.configuration.eventsKept)
        guard let slot = slots.acquire(reader, on: ObjectIdentifier(channel)) else {
            reader.end()
            return .unavailable("Too many event streams.", retryAfter: 5)
        }
        channel.closeFuture.whenComplete { _ in
            reader.end()
            slots.release(slot)
        }
        let stream = EventStream(
            configuration: dependencies.configuration, history: dependencies.history, reader: reader,
            bus: dependencies.bus, view: dependencies.view, time: dependencies.time)
        response.body = ResponseBody { writer in
            defer { slots.release(slot) }
            try await stream.run(after: lastID, to: &writer, on: channel)
        }
        return response
    }
}
