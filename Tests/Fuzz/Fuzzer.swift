import Glibc

// libFuzzer (https://llvm.org/docs/LibFuzzer.html) has no module. SwiftPM makes `Fuzz_main` the program's entry.

@_silgen_name("LLVMFuzzerRunDriver")
private func runFuzzer(
    _ count: UnsafeMutablePointer<CInt>,
    _ arguments: UnsafeMutablePointer<UnsafeMutablePointer<UnsafeMutablePointer<CChar>?>?>,
    _ body: @convention(c) (UnsafePointer<UInt8>?, Int) -> CInt
) -> CInt

/// Runs libFuzzer.
@_cdecl("Fuzz_main")
public func run(_ count: CInt, _ arguments: UnsafeMutablePointer<UnsafeMutablePointer<CChar>?>?) -> CInt {
    var (count, arguments) = (count, arguments)
    return runFuzzer(&count, &arguments, testOneInput)
}

/// Gives an input to the parser that the environment names.
@_cdecl("LLVMFuzzerTestOneInput")
public func testOneInput(_ bytes: UnsafePointer<UInt8>?, _ count: Int) -> CInt {
    if let problem = Fuzzer.target.problem(with: Array(UnsafeBufferPointer(start: bytes, count: count))) {
        print(problem)
        // Neither abort(3) nor libFuzzer writes what is buffered.
        fflush(nil)
        abort()
    }
    return 0
}

private enum Fuzzer {
    static let target = {
        let name = getenv("FUZZ_TARGET").map { String(cString: $0) } ?? ""
        guard let target = FuzzTarget(rawValue: name) else {
            print("FUZZ_TARGET is one of \(FuzzTarget.allCases.map(\.rawValue).joined(separator: ", "))")
            exit(2)
        }
        return target
    }()
}
