internal import HTTPTypes
internal import Hummingbird
internal import HummingbirdCore
internal import NIOCore
package import TidegateCore
package import TidegateIncidents

/// Incidents, availability, and whether this host's own side works, as JSON.
package struct IncidentRoutes: Sendable {
    let record: (any IncidentRecord)?
    let view: (any MonitorView)?
    let time: any TimeSource

    /// Targets have names; only those that a question is about matter.
    let targetNames: [Target: String]

    /// Routes to what a recorder has, and to the state that a guard answers from.
    package init(
        record: (any IncidentRecord)?, view: (any MonitorView)?, time: any TimeSource, targetNames: [Target: String]
    ) {
        (self.record, self.view, self.time, self.targetNames) = (record, view, time, targetNames)
    }

    private static let missing = Response.problem(.notFound, "Incidents are not recorded.", format: .json)

    func list(_ request: Request) async -> Response {
        await self.answering(request) { answer, from, to in answer.withoutIdentifiers.json(from: from, to: to) }
    }

    /// All that the incidents of a time were made of, for commands.
    func records(_ request: Request) async -> Response {
        await self.answering(request, wantsTotals: false) { answer, _, _ in answer.records }
    }

    func availability(_ request: Request) async -> Response {
        await self.answering(request) { answer, from, to in
            [
                "schema": 1, "from": .string(from.description), "to": .string(to.description),
                "target": .optional(answer.question.name), "coverage": answer.coverage(from: from, to: to).json,
            ]
        }
    }

    private func answering(
        _ request: Request, wantsTotals: Bool = true, _ document: (IncidentAnswer, WallTime, WallTime) -> JSONValue
    ) async -> Response {
        guard let record else { return Self.missing }
        let query = QueryParameters(target: request.head.path ?? "")
        do throws(TextError) {
            var question = try IncidentQuestion(query)
            let until = question.until
            let (from, to) = try question.bound(at: self.time.wall())
            // Commands also want what is planned.
            if !wantsTotals { (question.wantsTotals, question.until) = (false, until) }
            do throws(TextError) {
                let answer = try await record.answer(question)
                guard answer.isReached else {
                    return .problem(.badRequest, "after: no incident of this time has this ID", format: .json)
                }
                return .json(document(answer, from, to))
            } catch {
                return .problem(.internalServerError, error.description, format: .json)
            }
        } catch {
            return .problem(.badRequest, error.description, format: .json)
        }
    }

    func show(_ id: String) async -> Response {
        do throws(TextError) {
            guard let incident = try await self.incident(id) else { return Self.unknown }
            return self.document(of: incident)
        } catch {
            return .problem(.internalServerError, error.description, format: .json)
        }
    }

    /// The page of an incident.
    func page(_ id: String) async -> Response {
        do throws(TextError) {
            guard let incident = try await self.incident(id) else {
                return .problem(.notFound, "No incident has this ID.")
            }
            let html = IncidentSection.page(of: incident.withoutIdentifiers, at: self.time.wall())
            var response = Response.content(ByteBuffer(string: html), type: "text/html; charset=utf-8")
            response.headers[.contentSecurityPolicy] = IncidentReport.contentSecurityPolicy
            return response
        } catch {
            return .problem(.internalServerError, error.description)
        }
    }

    private static let unknown = Response.problem(.notFound, "no incident has this ID", format: .json)

    private func incident(_ id: String) async throws(TextError) -> Incident? {
        var question = IncidentQuestion()
        (question.id, question.wantsEvidence, question.limit) = (id, true, 1)
        return try await self.record?.answer(question).incidents.first { $0.id == id }
    }

    /// The outages of the last 90 days, for the page; nil if they are not recorded or cannot be read.
    func recent() async -> IncidentAnswer? {
        let now = self.time.wall()
        var question = IncidentQuestion()
        (question.since, question.until) = (now - IncidentQuestion.defaultSpan, now)
        return try? await self.record?.answer(question).withoutIdentifiers
    }

    private func document(of incident: Incident) -> Response {
        let body = incident.withoutIdentifiers.json(at: self.time.wall())
            .adding(.init("evidence", incident.withoutIdentifiers.evidence))
        return .json(["schema": 1, "incident": body])
    }

    /// Replaces the note of an incident by the members `text`, `reference`, `reportedAt` and `planned` of an object.
    func note(_ body: ByteBuffer, on id: String) async -> Response {
        do throws(TextError) {
            let note = try Incident.Note(parsing: Array(body.readableBytesView))
            guard let record else { return Self.missing }
            guard let incident = try await record.write(note, about: id) else { return Self.unknown }
            return self.document(of: incident)
        } catch {
            return .problem(.badRequest, error.description, format: .json)
        }
    }

    /// Plans maintenance by the members `from`, `to` and `text` of an object.
    func plan(_ body: ByteBuffer) async -> Response {
        guard let record else { return Self.missing }
        let json = (try? JSONValue(parsing: body.readableBytesView)) ?? .null
        guard let from = json["from"]?.text.flatMap(WallTime.init), let to = json["to"]?.text.flatMap(WallTime.init),
            let text = json["text"]?.text
        else {
            return .problem(.badRequest, "from, to: must be times of RFC 3339; text: must be a string", format: .json)
        }
        guard from < to else {
            return .problem(.badRequest, "from \(from) is not before to \(to)", format: .json)
        }
        guard text.utf8.count <= Incident.Note.textLimit else {
            return .problem(.badRequest, "text: has more than \(Incident.Note.textLimit) bytes", format: .json)
        }
        do throws(TextError) {
            let plan = try await record.plan(text, from: from, to: to)
            return .json(["schema": 1, "plan": plan.json], status: .created)
        } catch {
            return .problem(.internalServerError, error.description, format: .json)
        }
    }

    func removePlan(_ id: String) async -> Response {
        guard let record else { return Self.missing }
        do throws(TextError) {
            guard try await record.removePlan(id) else {
                return .problem(.notFound, "no planned maintenance has this ID", format: .json)
            }
            return .json(["schema": 1])
        } catch {
            return .problem(.internalServerError, error.description, format: .json)
        }
    }

    /// 200 while this host's side works or is not known to fail, 503 while it is decided that it fails.
    func check(_ request: Request) -> Response {
        let text = QueryParameters(target: request.head.path ?? "").values(of: "target").last
        guard let view else { return Self.missing }
        let target: Target?
        do {
            target = try text.map { try self.target($0) }
        } catch {
            return .problem(.badRequest, "target: \(error)", format: .json)
        }
        let open = self.record?.openHostIncident
        let answer = GuardAnswer(for: target, status: view.status, diagnosis: view.diagnosis, incident: open)
        return .json(answer.json, status: answer.isClear == false ? .serviceUnavailable : .ok)
    }

    private func target(_ text: String) throws -> Target {
        if let named = self.targetNames.first(where: { $0.value == text })?.key { return named }
        return try (try? HTTPURL(text))?.target ?? Target(text)
    }
}

extension IncidentRoutes {
    // The longest note or plan, as JSON.
    private static let bodyLimit = 65_536

    private static func id(_ context: ServerContext) -> String { context.parameters.get("id") ?? "" }

    /// The routes of the endpoint.
    var endpoint: [(RouterPath, EndpointRoutes.HandlerLabel, RouteTable.Handler)] {
        [
            ("/incidents/{id}", .incidentPage, { await self.page(Self.id($1)) }),
            ("/api/v1/incidents", .incidents, { request, _ in await self.list(request) }),
            ("/api/v1/incidents/{id}", .incident, { await self.show(Self.id($1)) }),
            ("/api/v1/availability", .availability, { request, _ in await self.availability(request) }),
            ("/api/v1/guard", .guarded, { request, _ in self.check(request) }),
        ]
    }

    /// Adds the routes of the control socket.
    func addControl(to table: RouteTable) {
        @Sendable func body(_ request: Request) async throws -> ByteBuffer {
            try await request.body.collect(upTo: Self.bodyLimit)
        }
        table.add("/api/v1/records", [(.get, { request, _ in await self.records(request) })])
        table.add(
            "/api/v1/incidents/{id}", [(.post, { await self.note(try await body($0), on: Self.id($1)) })])
        table.add("/api/v1/plans", [(.post, { request, _ in await self.plan(try await body(request)) })])
        table.add("/api/v1/plans/{id}", [(.delete, { await self.removePlan(Self.id($1)) })])
        table.add("/api/v1/guard", [(.get, { request, _ in self.check(request) })])
    }

    init(dependencies: EndpointRoutes.Dependencies) {
        self.init(
            record: dependencies.incidents, view: dependencies.view, time: dependencies.time,
            targetNames: dependencies.configuration.targetNames)
    }
}

extension Incident.Note {
    fileprivate init(parsing bytes: [UInt8]) throws(TextError) {
        self.init()
        guard case .object(let members)? = try? JSONValue(parsing: bytes) else {
            throw TextError("request body must be a JSON object")
        }
        for member in members {
            switch (member.name, member.value) {
            case ("text", .string(let text)), ("reference", .string(let text)):
                guard text.utf8.count <= Self.textLimit else {
                    throw TextError("\(member.name): has more than \(Self.textLimit) bytes")
                }
                if member.name == "text" { self.text = text } else { self.reference = text }
            case ("planned", .bool(let isPlanned)): self.isPlanned = isPlanned
            case ("reportedAt", .string(let text)):
                guard let time = WallTime(text) else {
                    throw TextError("reportedAt: \"\(text)\" is not a time of RFC 3339")
                }
                self.reported = time
            case (let name, .null) where ["text", "reference", "planned", "reportedAt"].contains(name): break
            case (let name, _): throw TextError("\(name): unknown member, or a value of another type")
            }
        }
    }
}

extension IncidentQuestion {
    // A client that does not read keeps its answer in the memory.
    private static let mostBytes = 1 << 20

    /// `since`, `until`, `party`, `scope`, `target`, `id`, `open`, `limit` and `after` of a query.
    init(_ query: QueryParameters) throws(TextError) {
        func last(_ name: String) -> String? { query.values(of: name).last.flatMap { $0.isEmpty ? nil : $0 } }
        self = try IncidentQuestion(last) { text throws(TextError) in
            guard let time = WallTime(text) else { throw TextError("\"\(text)\" is not a time of RFC 3339") }
            return time
        }
        (self.id, self.after, self.isOpenOnly) = (last("id"), last("after"), last("open") == "true")
        self.wantsEvidence = last("evidence") == "true"
        if let text = last("limit") {
            guard let limit = Int(text), (1...10_000).contains(limit) else {
                throw TextError("limit: \"\(text)\" is not a number from 1 to 10000")
            }
            self.limit = limit
        }
        self.byteLimit = Self.mostBytes
    }
}
