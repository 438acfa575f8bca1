# SPDX-License-Identifier: MIT
#: usage: ./dev doc [PAGE... [--accept]]
#:
#: Lists the documents of the tree and checks that every relative link in them leads to a file.
#:   PAGE       a page of docs/book, or readme: compiles and runs its code, and compares what that prints with the page
#:   --accept   writes what the code printed into the page, where it differs; read it before you commit

accept=()
pages=()
for argument in "$@"; do
  case $argument in
    -h | --help) help_of doc; exit 0 ;;
    --accept) accept=(--accept) ;;
    -*) refuse "it does not know '$argument'" ;;
    *)
      page=$(basename "${argument,,}" .md)
      [ "$page" = readme ] || [ -f "docs/book/$page.md" ] || refuse "there is no page '$argument' in docs/book"
      pages+=("$page")
      ;;
  esac
done
setup_for test
if [ ${#pages[@]} -eq 0 ]; then
  [ ${#accept[@]} -eq 0 ] || refuse "--accept wants a page"
  exec python3 "$ROOT/tools/house/links.py" --list
fi
configure dev
build dev "${pages[@]/#/weft_doc_}"
for page in "${pages[@]}"; do
  file=docs/book/$page.md
  [ "$page" != readme ] || file=README.md
  python3 tools/docs/page.py run --frames "${accept[@]}" "$file" "build/dev/docs/weft_doc_$page" || [ ${#accept[@]} -gt 0 ]
done
