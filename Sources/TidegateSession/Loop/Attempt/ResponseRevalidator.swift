internal import HTTPTypes
internal import TidegateCore
internal import TidegateTransfer

/// Adds conditions for stored responses to attempts, delivers the responses that servers confirm, and stores new ones.
struct ResponseRevalidator {
    let store: ValidatorStore?

    // MARK: - Requests

    /// The conditions for an attempt's request with these fields; none without a usable stored response.
    ///
    /// `limit` is the maximum body size in bytes.
    func conditions(
        _ record: TaskRecord, _ fields: [HTTPField], _ context: StoredRequest.Context, limit: Int?
    ) -> [HTTPField] {
        guard let store = self.store, self.mayUse(record) else {
            record.download.revalidation = nil
            return []
        }
        let state = record.download.revalidation ?? RevalidationState()
        record.download.revalidation = state
        (state.asked, state.candidate, state.confirmed) = (nil, nil, nil)
        state.isForgotten = false
        var context = context
        context.file = record.paths?.absoluteDestination
        state.request = StoredRequest(record.hop.url, fields, context)
        guard !state.asksForAll, let request = state.request, let stored = store.response(for: request),
            record.request.options.sha256 == nil || stored.sha256 == record.request.options.sha256?.description,
            self.isThere(stored, limit: limit)
        else { return [] }
        state.asked = stored
        return stored.conditions
    }

    private func mayUse(_ record: TaskRecord) -> Bool {
        guard record.hop.method == "GET" || record.hop.method == "HEAD", record.download.partial.resumePoint == nil,
            record.request.body == .none || !record.hop.keepsBody
        else { return false }
        return switch record.destination {
        case .memory: true
        case .file: record.hop.method == "GET"
        case .descriptor, .stream, .discard: false
        }
    }

    private func isThere(_ stored: StoredResponse, limit: Int?) -> Bool {
        switch stored.body {
        case .stored(let length, _): limit.map { length <= $0 } ?? true && self.store?.hasBody(of: stored) == true
        case .file(let path, let identity, _): (try? FileIdentity.of(FileLocation(path))) == identity
        }
    }

    // MARK: - Responses

    /// Interprets a 304 as the answer to the attempt's condition.
    func take(_ end: inout AttemptEnd, _ record: TaskRecord) {
        guard end.status == 304, record.download.revalidation?.asked != nil else { return }
        end.failure = nil
        end.text = ""
    }

    /// Checks whether the server confirms the stored response; false if the 304 is for another one, and the whole
    /// response must be requested.
    func confirms(_ record: TaskRecord, by end: AttemptEnd, _ tasks: inout SessionTasks) -> Bool {
        guard let state = record.download.revalidation, let asked = state.asked, let head = end.outcome.head else {
            return false
        }
        state.confirmed = asked.updated(by: head)
        if state.confirmed == nil { self.askForAll(record, asked, &tasks) }
        return state.confirmed != nil
    }

    private func askForAll(_ record: TaskRecord, _ stored: StoredResponse, _ tasks: inout SessionTasks) {
        record.download.revalidation?.asksForAll = true
        self.store?.remove(stored)
        self.removeObsoleteFiles(&tasks)
    }

    /// Records the data needed to store a good response; true if it will be stored before its task ends.
    func willStore(_ record: TaskRecord, _ end: AttemptEnd) -> Bool {
        guard let store = self.store, let state = record.download.revalidation, let request = state.request,
            !state.isForgotten, let head = end.outcome.head, end.outcome.isLengthVerified, record.hop.method == "GET",
            // A hook may have changed the body's destination.
            request.file == record.paths?.absoluteDestination,
            request.file != nil || record.download.body.count <= store.bodyLimit
        else { return false }
        // The body's length and digest, or the file's identity, replace this value when the body is complete.
        state.candidate = StoredResponse(head, to: request, body: .stored(length: 0, sha256: ""))
        return state.candidate != nil
    }

    /// Handles the success of a request that may have changed the resource at its URL (RFC 9111 4.4).
    func invalidate(_ end: AttemptEnd, _ record: TaskRecord, _ tasks: inout SessionTasks) {
        guard let store = self.store, let status = end.status, (200..<400).contains(status),
            !["GET", "HEAD", "OPTIONS", "TRACE"].contains(record.hop.method), store.remove(url: record.hop.url.text)
        else { return }
        self.removeObsoleteFiles(&tasks)
    }

    // MARK: - Bodies

    /// Starts reading the body that a server has confirmed; false if none exists.
    func restore(_ record: TaskRecord, _ tasks: inout SessionTasks) -> Bool {
        guard let store = self.store, let state = record.download.revalidation, let stored = state.confirmed else {
            return false
        }
        let isHead = record.hop.method == "HEAD"
        let isKept = !state.isForgotten && !StoredRequest.forbidsStoring(stored.head?.fields("Cache-Control") ?? [])
        tasks.perform(for: record.number) {
            guard let body = store.readBody(of: stored, isHead: isHead) else { return .restored(nil) }
            if isKept { store.refresh(stored) } else { store.remove(stored) }
            store.removeObsoleteFiles()
            return .restored(body)
        }
        return true
    }

    /// Takes the body of a confirmed response; nil if it is damaged or gone and must come from the server.
    func restored(_ body: [UInt8]?, _ record: TaskRecord, _ tasks: inout SessionTasks) {
        guard record.machine.phase == .finishing, let state = record.download.revalidation, let stored = state.confirmed
        else { return }
        guard let body else {
            // The store has removed damaged bodies; a body that cannot be read now may be readable later.
            (state.confirmed, state.asksForAll) = (nil, true)
            return tasks.feed(.commitLeads, to: record)
        }
        record.download.body = body
        record.result.head = stored.head
        record.result.status = 200
        record.result.isRevalidated = true
        record.result.delivered = Int64(body.count)
        if case .file = stored.body { record.result.movedTo = record.destination.path }
        if record.request.options.sha256 != nil { record.result.sha256 = stored.sha256 }
        tasks.feed(.committed(isGood: true), to: record)
    }

    /// Starts storing the response of a task whose body is complete; false if there is nothing to wait for.
    func store(_ record: TaskRecord, _ tasks: inout SessionTasks) -> Bool {
        guard let store = self.store, let state = record.download.revalidation, let candidate = state.candidate else {
            return false
        }
        state.candidate = nil
        let (file, body, sha256) = (record.download.file, record.download.body, record.result.sha256)
        let path = record.paths?.absoluteDestination ?? ""
        tasks.perform(for: record.number, refusal: .stored) {
            var response = candidate
            if let file {
                guard let identity = try? file.identity() else { return .stored }
                response.body = .file(path: path, identity, sha256: sha256)
            } else {
                response.body = .stored(length: body.count, sha256: MessageDigest.sha256(body).hexadecimal)
            }
            store.tryPut(response, body: file == nil ? body : nil)
            return .stored
        }
        return true
    }

    // MARK: - The store

    private func removeObsoleteFiles(_ tasks: inout SessionTasks) {
        guard let store = self.store else { return }
        tasks.perform {
            store.removeObsoleteFiles()
            return nil
        }
    }

    /// Publishes the problems of the store.
    func reportProblems(_ tasks: inout SessionTasks) {
        for problem in self.store?.takeProblems() ?? [] {
            tasks.announce(.storedResponseDropped(file: problem.file, problem: problem.problem))
        }
    }
}

extension ValidatorStore {
    // Blocks: for the disk thread. Nil if the body is damaged or gone.
    fileprivate func readBody(of stored: StoredResponse, isHead: Bool) -> [UInt8]? {
        switch stored.body {
        case .stored:
            guard !isHead else { return [] }
            do throws(ValidatorStoreError) { return try self.body(of: stored) } catch {
                self.note(error)
                return nil
            }
        case .file(let path, let identity, _): return (try? FileIdentity.of(FileLocation(path))) == identity ? [] : nil
        }
    }
}

/// How a task's response is revalidated and stored.
final class RevalidationState {
    /// The store's view of the request on the wire; nil if the request does not involve the store.
    var request: StoredRequest?
    /// The response that the request on the wire revalidates; nil if the request is unconditional.
    var asked: StoredResponse?
    /// True after an unusable answer: the next attempt requests the whole response.
    var asksForAll = false
    /// The response that the server has confirmed.
    var confirmed: StoredResponse?
    /// True if the session was reset since the request was created, so nothing of its answer is stored.
    var isForgotten = false
    /// The response to store when the task's body is complete.
    var candidate: StoredResponse?
}
