/// Our side of the benchmarks that need a program; ``Usage`` says which there are.
@main
struct TidegateBench {
    static func main() async throws {
        let words = Array(CommandLine.arguments.dropFirst())
        switch words.first {
        case "gets":
            guard words.count == 4, let count = Int(words[2]), let inFlight = Int(words[3]) else { throw Usage() }
            try await Gets(url: words[1], count: count, inFlight: inFlight).run()
        case "gate":
            guard words.count == 2 else { throw Usage() }
            try await Gate(target: words[1]).run()
        case "watch":
            guard words.count == 1 else { throw Usage() }
            try await Watch().run()
        case "targets":
            guard words.count == 2, let count = Int(words[1]), count > 0 else { throw Usage() }
            try await Targets(count: count).run()
        case "suspended":
            guard words.count == 2, let count = Int(words[1]), count > 0 else { throw Usage() }
            try await Suspended(count: count).run()
        case "waiting":
            guard words.count == 4, let count = Int(words[2]), let seconds = Int(words[3]) else { throw Usage() }
            try await Waiting(url: words[1], count: count, seconds: seconds).run()
        case "slow":
            guard words.count == 3, let count = Int(words[2]), count > 0 else { throw Usage() }
            try await Slow(url: words[1], count: count).run()
        case "journal":
            guard words.count == 3, let count = Int(words[2]), count >= 100 else { throw Usage() }
            try await JournalCommits(directory: words[1], count: count).run()
        case "publish":
            guard words.count == 2, let count = Int(words[1]), count > 0 else { throw Usage() }
            Publish(count: count).run()
        case "metrics":
            guard words.count == 1 else { throw Usage() }
            try Metrics().run()
        default:
            throw Usage()
        }
    }
}

struct Usage: Error, CustomStringConvertible {
    let description = """
        TidegateBench gets URL COUNT IN-FLIGHT | gate ADDRESS | watch | targets COUNT | suspended COUNT \
        | waiting URL COUNT SECONDS | slow URL COUNT | journal DIRECTORY COUNT | publish COUNT | metrics
        """
}
