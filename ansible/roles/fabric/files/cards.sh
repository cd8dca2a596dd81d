# One line for each network card of a fabric: efa, infiniband, roce or gvnic. A plain Ethernet card is none of them.
for card in "${SYSFS:-/sys}"/class/infiniband/*; do
  [ -e "$card" ] || continue
  case "$(basename "$(readlink -f "$card/device/driver")")/$(cat "$card/ports/1/link_layer")" in
    efa/*) echo efa ;;
    */InfiniBand) echo infiniband ;;
    */Ethernet) echo roce ;;
  esac
done
for card in "${SYSFS:-/sys}"/class/net/*; do
  case "$(basename "$(readlink -f "$card/device/driver")")" in gve | gvnic) echo gvnic ;; esac
done
