internal import HTTPTypes
internal import TidegateCore
internal import TidegateTransfer

/// From the gate to the wire: files, names, the request itself.
extension SessionLoop {
    /// Looks once, before anything is waited for, whether the task can begin and end here; false where it failed.
    func prepare(_ record: TaskRecord) -> Bool {
        guard !record.isPrepared else { return true }
        record.isPrepared = true
        do {
            if let obstacle = record.paths?.obstacle() {
                self.fail(record, .fileError, obstacle)
                return false
            }
            // It may have rested for long since it was accepted.
            if let mark = record.journal, let problem = self.bodyProblem(mark.task) {
                self.fail(record, problem.failure, problem.words)
                return false
            }
            if case .file(let path) = record.request.body { record.bodyIdentity = try FileIdentity.of(path) }
            guard self.claimsStream(record) else { return false }
            try self.adoptEarlierPart(record)
            return true
        } catch {
            self.fail(record, error.failure, self.words(for: error, record))
            return false
        }
    }

    private func adoptEarlierPart(_ record: TaskRecord) throws(FileError) {
        guard record.keepsBytes, let paths = record.paths else { return }
        if let point = self.journaledPoint(record) { return try self.adopt(point, at: paths, record) }
        if let point = record.request.resuming?.point, point.isUsable {
            return try self.adopt(point, at: paths, record)
        }
        guard record.continues else { return }
        guard let data = try paths.readRecord(), data.url == record.request.address.text, data.point.isUsable
        else { return }
        try self.adopt(data.point, at: paths, record)
    }

    private func adopt(
        _ point: ResumePoint, at paths: DownloadPaths, _ record: TaskRecord
    ) throws(FileError) {
        // Kept open, and so locked, from now on: nobody else may change it while the task waits.
        let file = try self.openFile(paths, keeping: point.offset, record)
        record.file = file
        record.hasTemporary = true
        let held = min(point.offset, try file.size())
        if held > 0 { record.hold.adopt(point, held: held) }
    }

    func startAttempt(_ record: TaskRecord) {
        guard let desk = record.desk else { return }
        self.settleEpoch()
        let id = AttemptID(of: record)
        record.attempt = LiveAttempt(
            id: id, number: record.machine.attempts, started: self.now, knowing: desk.known)
        record.gateWasTold = false
        record.shut = nil
        record.clocks.attemptStarted(at: self.now)
        if record.tally.started == nil { record.tally.started = self.surroundings.time.wall() }
        if let address = desk.target.address { return self.launch(record, on: [address]) }
        switch desk.addresses {
        case .known(let addresses, let until) where until > self.now: self.launch(record, on: addresses)
        case .known, .unknown: self.ask(record, desk)
        case .asking: self.awaitAddresses(of: desk, record)
        }
    }

    private func ask(_ record: TaskRecord, _ desk: TargetState) {
        self.awaitAddresses(of: desk, record)
        self.ask(desk)
    }

    private func awaitAddresses(of desk: TargetState, _ record: TaskRecord) {
        record.standsInLine = true
        desk.resolving.append(record.number)
    }

    /// The answer that is awaited does not count any more; whoever still waits for one gets a new one.
    func askAnew(_ desk: TargetState) {
        desk.question += 1
        if !desk.resolving.isEmpty { self.ask(desk) }
    }

    private func ask(_ desk: TargetState) {
        desk.addresses = .asking
        desk.question += 1
        desk.askedAt = self.now
        let (line, number, question) = (self.surroundings.line, desk.number, desk.question)
        self.surroundings.resolver.resolve(desk.target.host) {
            line.send(.resolved(desk: number, question: question, $0))
        }
    }

    // Addresses are kept for a moment only: how long a name is good for is the resolver's business.
    func resolved(_ result: Result<[IPAddress], ResolveFailure>, at desk: TargetState) {
        let waiting = desk.resolving
        desk.resolving = []
        switch result {
        case .success(let addresses): desk.addresses = .known(addresses, until: self.now + .seconds(5))
        case .failure: desk.addresses = .unknown
        }
        for number in waiting {
            guard let record = self.records[number], let attempt = record.attempt, !attempt.isLaunched else { continue }
            record.attempt?.resolve = self.now - attempt.started
            switch result {
            case .success(let addresses): self.launch(record, on: addresses)
            case .failure(let failure): self.nameFailed(failure, record, desk)
            }
        }
    }

    private func nameFailed(_ failure: ResolveFailure, _ record: TaskRecord, _ desk: TargetState) {
        let words =
            switch failure {
            case .nameNotFound: "the name \(desk.target.host) does not exist or has no address"
            case .timedOut: "no name resolver answered about \(desk.target.host) in time"
            case .failed: "the name resolver failed about \(desk.target.host)"
            }
        var end = self.takeOff(record, .resolveFailed, words)
        end.resolveFailure = failure
        self.conclude(record, end)
    }

    func launch(_ record: TaskRecord, on addresses: [IPAddress]) {
        guard let live = record.attempt, !self.asksForNewBody(record, live, on: addresses),
            self.mayReachWire(record, on: addresses)
        else { return }
        do {
            try self.checkBody(record)
            let sink = try self.sink(of: record)
            let request = self.attemptRequest(record, id: live.id, addresses: addresses, sink: sink)
            try self.engine.start(request)
            live.isLaunched = true
            live.epoch = self.engine.epoch
            if let desk = record.desk { (desk.usedEpoch, desk.used) = (live.epoch, desk.known) }
            if record.depth == 0 { self.settle(record) }
        } catch let error as FileError {
            self.cannotStart(record, error.failure, self.words(for: error, record))
        } catch {
            self.cannotStart(record, .invalidRequest, "\(error)")
        }
    }

    // Nothing was tried, so nothing is charged.
    func cannotStart(_ record: TaskRecord, _ failure: TaskFailure, _ words: String) {
        let end = self.takeOff(record, failure, words)
        self.publishFailure(record, end, failure, isCharged: false)
        if failure == .diskFull, self.waitsOut(record) { return self.waitForDisk(record, words) }
        self.fail(record, failure, words)
    }

    private func words(for error: FileError, _ record: TaskRecord) -> String {
        guard error.operation == "flock", let paths = record.paths else { return error.description }
        return "another download to \(paths.destination) is under way"
    }

    private func checkBody(_ record: TaskRecord) throws(FileError) {
        guard case .file(let path) = record.request.body, let identity = record.bodyIdentity else { return }
        guard try FileIdentity.of(path) == identity else {
            // ESTALE: the file is another one than when the task began.
            throw FileError(operation: "the file changed under the task", path: path, code: 116)
        }
    }

    private func sink(of record: TaskRecord) throws(FileError) -> BodySink {
        switch record.destination {
        case .memory(let limit): return .memory(limit: limit)
        case .descriptor(let descriptor): return .descriptor(descriptor)
        case .stream(let stream): return .chunks(stream)
        case .discard:
            if record.hold.resumePoint == nil { record.hold.startOver() }
            return .discard
        case .file: return try self.fileSink(of: record)
        }
    }

    func fileSink(of record: TaskRecord) throws(FileError) -> BodySink {
        guard let paths = record.paths else { return .discard }
        // Not `??`, which forgets what its right side throws.
        let open = record.file
        let file =
            if let open { open } else {
                try self.openFile(paths, keeping: record.hold.resumePoint?.offset, record)
            }
        record.hasTemporary = true
        record.file = file
        let size = try file.size()
        // What is not held is not continued either: a hole would be filled with zeros.
        if let kept = record.hold.resumePoint?.offset, kept <= size {
            if size > kept { try file.truncate(to: kept) }
        } else {
            record.hold.startOver()
            if size > 0 { try file.truncate(to: 0) }
        }
        return .file(file)
    }

    private func openFile(
        _ paths: DownloadPaths, keeping offset: Int64?, _ record: TaskRecord
    ) throws(FileError) -> DownloadFile {
        guard case .file(_, let permissions, _) = record.destination else {
            return try DownloadFile.open(paths, keeping: offset)
        }
        return try DownloadFile.open(paths, keeping: offset, permissions: permissions)
    }

    private func attemptRequest(
        _ record: TaskRecord, id: AttemptID, addresses: [IPAddress], sink: BodySink
    ) -> AttemptRequest {
        let task = record.task
        let hop = record.hop
        let tls = task.request.tls ?? self.configuration.tls
        let awaitsDisposition = self.awaitsDisposition(record)
        record.attempt?.awaitsDisposition = awaitsDisposition
        return AttemptRequest(
            id: id, url: hop.url, method: hop.method, headers: self.fields(record), body: self.body(record),
            addresses: addresses, sink: sink, resume: record.hold.resumePoint,
            connectTimeout: task.request.connectTimeout, allowsHTTP2: task.request.usesHTTP2,
            tls: TLSOptions(
                caFile: tls.caFile, isInsecure: tls.isInsecure, pins: tls.pins[hop.url.target.host] ?? []),
            proxy: self.proxy, credentials: self.credentials(record),
            userAgent: task.request.headers.first(named: .userAgent) ?? self.configuration.userAgent,
            acceptsCompression: task.request.acceptsCompression && record.hold.resumePoint == nil,
            bytesPerSecondLimit: task.request.bytesPerSecondLimit.map(Int64.init),
            isRepeatable: task.request.isIdempotent, awaitsDisposition: awaitsDisposition,
            listener: self.bodyListener(of: record))
    }

    private func fields(_ record: TaskRecord) -> [HTTPField] {
        let identity = record.extras.map { _ in self.identity(record) } ?? []
        let fields = self.headers(record, of: record.hop).filter { field in
            field.name != .userAgent && !identity.contains { field.name == $0.name }
        }
        return identity.isEmpty ? fields : fields + identity
    }

    /// The fields of the user's own that a hop's request has.
    func headers(_ record: TaskRecord, of hop: RedirectRule.Hop) -> [HTTPField] {
        if let headers = hop.headers { return headers }
        if hop.keepsCredentials, hop.keepsBody { return record.request.headers }
        return record.request.headers.filter { field in
            if !hop.keepsCredentials, RedirectRule.isPrivate(field.name) { return false }
            return hop.keepsBody || !RedirectRule.describesBody(field.name)
        }
    }

    private func body(_ record: TaskRecord) -> AttemptBody {
        guard record.hop.keepsBody else { return .none }
        return switch record.request.body {
        case .none: .none
        case .data(let bytes): .bytes(bytes)
        case .file(let path): .file(path: path, length: record.bodyIdentity?.size ?? 0)
        case .stream(let stream): self.stream(record.bodyStream ?? stream, record)
        }
    }

    private func credentials(_ record: TaskRecord) -> Credentials? {
        guard record.hop.keepsCredentials, record.extras?.authorizations.isEmpty != false else { return nil }
        return record.request.credentials ?? record.firstHop.url.credentials
    }
}
