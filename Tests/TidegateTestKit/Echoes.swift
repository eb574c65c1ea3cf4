/// The answers to a series of ICMP echo requests (RFC 792), as ping(8) sends them.
package struct Echoes: Sendable {
    /// The answer to one request.
    package struct Answer: Sendable {
        /// The number of the request, from 0.
        package let sequence: Int
        /// The time from the request to the answer.
        package let roundTrip: Duration
    }

    /// The number of requests.
    package let count: Int
    /// The answers in the order of their arrival.
    package let answers: [Answer]

    /// The requests without an answer.
    package var lost: [Int] { Set(0..<self.count).subtracting(self.answers.map(\.sequence)).sorted() }

    /// The median of the round trips; nil without an answer.
    package var median: Duration? {
        let sorted = self.answers.map(\.roundTrip).sorted()
        return sorted.isEmpty ? nil : sorted[sorted.count / 2]
    }

    /// How many answers arrived after the answer to a later request.
    package var overtaken: Int {
        var newest = -1
        return self.answers.count { answer in
            defer { newest = max(newest, answer.sequence) }
            return answer.sequence < newest
        }
    }

    /// Sends `count` requests from a namespace, one per `interval`, and waits for the answers.
    ///
    /// - Parameter patience: How long it waits for missing answers after the last request.
    package static func send(
        _ count: Int, to address: String, from namespace: NetworkNamespace,
        every interval: Duration = .milliseconds(10),
        patience: Duration = .seconds(1)
    ) async throws -> Echoes {
        let numbers = [String(count), "\(interval / .seconds(1))", "\(patience / .seconds(1))"]
        let output = try await Program.expect(
            namespace.inside(["python3", "-c", self.script, address] + numbers))
        let answers = output.split(separator: "\n").compactMap { line -> Answer? in
            let parts = line.split(separator: " ")
            guard parts.count == 2, let sequence = Int(parts[0]), let seconds = Double(parts[1]) else { return nil }
            return Answer(sequence: sequence, roundTrip: .seconds(seconds))
        }
        return Echoes(count: count, answers: answers)
    }

    private static let script = """
        import os, select, socket, struct, sys, time
        address, count, interval, patience = sys.argv[1], int(sys.argv[2]), float(sys.argv[3]), float(sys.argv[4])
        echo = socket.socket(socket.AF_INET, socket.SOCK_RAW, socket.IPPROTO_ICMP)
        echo.connect((address, 0))
        mine = os.getpid() & 0xffff
        def request(number):
            total = 0x0800 + mine + number
            while total >> 16: total = (total & 0xffff) + (total >> 16)
            return struct.pack(">BBHHH", 8, 0, ~total & 0xffff, mine, number)
        sent, answers = [], {}
        start = time.monotonic()
        end = start + interval * (count - 1) + patience
        while len(answers) < count:
            now = time.monotonic()
            if len(sent) < count and now >= start + interval * len(sent):
                sent.append(time.monotonic())
                echo.send(request(len(sent) - 1))
                continue
            if now >= end: break
            wake = start + interval * len(sent) if len(sent) < count else end
            if not select.select([echo], [], [], wake - now)[0]: continue
            packet = echo.recv(2000)
            now = time.monotonic()
            kind, code, _, owner, number = struct.unpack(">BBHHH", packet[20:28])
            if kind == 0 and owner == mine and number not in answers:
                answers[number] = now - sent[number]
        for number, seconds in answers.items(): print(number, seconds)
        """
}
