internal import ArgumentParser
internal import Tidegate

/// The transfers of a run: those of the arguments, and those of the input file, which is read as needed.
struct FetchSource {
    private var plan: FetchPlan
    private let list: URLList?
    private var names = FileNames()
    /// The transfers planned before anything starts.
    private var items: [FetchPlan.Item] = []
    /// The errors of the lines before the first valid one.
    private var refused: [String] = []

    /// - Throws: A usage error for an argument that is not a URL, or an input file that cannot be opened.
    init(_ options: FetchCommand, _ plan: FetchPlan) throws {
        self.plan = plan
        self.list = try options.inputFile.map { file throws(CommandError) in try URLList(file) }
        do throws(TextError) {
            for url in options.urls { self.items.append(try self.plan.item(for: url, &self.names)) }
        } catch {
            throw ValidationError(error.description)
        }
    }

    /// Reads up to the first transfer, and checks it together with the options that apply to all.
    mutating func readFirst() async throws {
        if self.items.isEmpty, let first = try await self.nextItem() { self.items = [first] }
        guard !self.items.isEmpty || !self.refused.isEmpty else {
            throw ValidationError("no URL in the input file")
        }
        if self.plan.takesOneURL || self.plan.sendsPipe {
            var hasMore = self.items.count > 1
            if !hasMore { hasMore = try await self.nextItem() != nil }
            if hasMore {
                throw ValidationError(
                    self.plan.sendsPipe
                        ? "--upload-file: a pipe is read once, and cannot be sent to several URLs"
                        : "several URLs require -O, --output-dir or --discard")
            }
        }
        for item in self.items {
            if let problem = item.request.fileProblem { throw CommandError(.no, problem) }
        }
    }

    /// Continues the files of the first transfers that another program left, if a digest can verify them.
    func adoptFiles() {
        for item in self.items { item.request.adoptFile() }
    }

    /// The files of the first transfers that cannot be replaced.
    var filesInPlace: [String] { self.items.map(\.request.destination).filter(\.isWrittenInPlace).compactMap(\.path) }

    /// Sends the body through a stream, so that it can be checked before it is printed; nil without an item.
    mutating func streamBody() -> BodyStream? {
        guard !self.items.isEmpty else { return nil }
        let body = BodyStream()
        self.items[0].request.destination = .stream(body)
        return body
    }

    // Collects the errors of lines that are not URLs.
    private mutating func nextItem() async throws(CommandError) -> FetchPlan.Item? {
        while let entry = try await self.list?.next() {
            do {
                return try self.plan.item(for: entry.url, &self.names)
            } catch {
                self.refused.append("\(entry.place): \(error)")
            }
        }
        return nil
    }

    /// Adds every transfer to a feed, and reports lines that are not URLs.
    mutating func fill(_ feed: FetchFeed, report: (String) async -> Void) async {
        for message in self.refused {
            feed.refuse()
            await report(message)
        }
        for item in self.items { await feed.add(item) }
        do {
            while !feed.isStopped, let entry = try await self.list?.next(while: { !feed.isStopped }) {
                do throws(TextError) {
                    await feed.add(try self.plan.item(for: entry.url, &self.names))
                } catch {
                    feed.refuse()
                    await report("\(entry.place): \(error)")
                }
            }
        } catch {
            feed.cutShort()
            await report(error.message ?? "the list cannot be read")
        }
    }
}
